"""`ironlaw.predict`, `ironlaw.fuse`, `ironlaw.roofline`: names are taken where objects are; all else is answered by what to write."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.arrays import Number
from ironlaw.engine.device import fusion
from ironlaw.engine.device import predict as engine
from ironlaw.engine.device import roofline as engine_roofline
from ironlaw.engine.device.compiler_rules import TREE, Rules
from ironlaw.engine.device.fusion import FusionPlan
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.formats import spelled
from ironlaw.registry.machines import hardware as machine_named
from ironlaw.systems.call_arguments import answering
from ironlaw.systems.launched_workloads import workload

ROOFLINE = "il.roofline(2e12, 3e9, 'h200', 'fp16')"


@answering("il.predict(il.workload('resnet50', batch=8, dtype='fp16'), 'h200', 'compiled')")
def predict(graph: Graph | str, hardware: Hardware | str, plan: Plan | str | None = None) -> Prediction:
    """How long `graph` takes on `hardware` when run as `plan` says, and where the time goes. A model of the registry, a machine and a
    mode may be named.

    >>> import ironlaw as il
    >>> p = il.predict(il.workload("gpt2", batch=8, seq=512), il.hardware("h200"), il.Plan(mode="compiled"))
    >>> p.bound, p.label, p.fits, p.interval[0] < p.seconds < p.interval[1]
    ('compute', 'calibrated', True, True)
    >>> il.predict("resnet50", "h200", "compiled").plan.mode
    'compiled'
    """
    return engine.predict(as_graph(graph), as_machine(hardware), as_plan(plan))


@answering("il.fuse('resnet50')")
def fuse(graph: Graph | str, rules: Rules = TREE) -> FusionPlan:
    """Which operators of a graph, or of a model of the registry, go into one kernel, and why the others don't."""
    return fusion.fuse(as_graph(graph), rules)


@answering(ROOFLINE)
def roofline(
    flops: Number, bytes: Number, hardware: Hardware | str, fmt: str, level: str = "main", work: str = "matrix"
) -> engine_roofline.Roofline:
    """Where `flops` over `bytes` stand on a machine's roof for a number format, a memory level and a kind of work (matrix | vector).

    >>> import ironlaw as il
    >>> il.roofline(2e12, 3e9, "h200", "fp16").regime
    'compute'
    """
    if isinstance(flops, (str, Graph, Hardware)) or isinstance(bytes, (str, Graph, Hardware)):
        raise BadValue(
            f"a roofline is asked by a work's FLOPs and bytes, such as {ROOFLINE}; for a model write il.predict('resnet50', 'h100'),"
            " whose `ops` say which side of the ridge each operator is on"
        )
    return engine_roofline.roofline(flops, bytes, as_machine(hardware), spelled(str(fmt)), level, work)


def as_graph(given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    if isinstance(given, str):
        return workload(given)
    raise BadValue(
        f"a graph is needed, and this is a {type(given).__name__}; write il.capture(model, (x,)), or name a model of the registry"
    )


def as_machine(given: Any) -> Hardware:
    if isinstance(given, Hardware):
        return given
    if isinstance(given, str):
        return machine_named(given)
    raise BadValue(f"a machine is needed, and this is a {type(given).__name__}; write il.hardware('h200') or 'h200'")


def as_plan(given: Any) -> Plan:
    if given is None:
        return Plan()
    plan = Plan(mode=given) if isinstance(given, str) else given
    if not isinstance(plan, Plan):
        raise BadValue(f"a plan is needed, and this is a {type(given).__name__}; write il.Plan(mode='compiled') or 'compiled'")
    if plan.host is not None and not isinstance(plan.host, Host):
        raise BadValue(f"{plan.host!r} is not a host; write il.Plan(host=il.host({str(plan.host)!r}))")
    return plan
