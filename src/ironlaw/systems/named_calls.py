"""`ironlaw.predict`, `ironlaw.fuse`, `ironlaw.roofline` and what lists names: names are taken where objects are; all else is answered by
what to write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.engine.arrays import Number
from ironlaw.engine.device import compilation, fusion
from ironlaw.engine.device import predict as engine
from ironlaw.engine.device import roofline as engine_roofline
from ironlaw.engine.device.compiler_rules import TREE, Rules
from ironlaw.engine.device.fusion import FusionPlan
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, kind_of
from ironlaw.formats import spelled
from ironlaw.registry import hosts as registered_hosts
from ironlaw.registry import machines as registered_machines
from ironlaw.registry import workloads as registered_workloads
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


@answering("il.breakeven(compile_s=45, eager_rate=900, compiled_rate=1300)")
def breakeven(compile_s: Number, eager_rate: Number, compiled_rate: Number) -> Number:
    """Calls after which compiling has paid for itself, from the seconds that it takes and calls per second before and after; inf where it
    saves nothing.

    >>> import ironlaw as il
    >>> round(il.breakeven(45, 900, 1300))
    131625
    """
    return compilation.breakeven(compile_s, eager_rate, compiled_rate)


@answering("il.host('bare')")
def host(name: str) -> Host:
    """A host by name (`"bare"`, `"xeon_vm"`), or the one that was measured here (`"here"`)."""
    return registered_hosts.host(name)


@answering("il.hosts()")
def hosts() -> tuple[str, ...]:
    """The names of all hosts of the registry."""
    return registered_hosts.hosts()


@answering("il.machines()")
def machines() -> tuple[str, ...]:
    """The names of all machines of the registry."""
    return registered_machines.machines()


@answering("il.workloads()")
def workloads() -> tuple[str, ...]:
    """The names of all models of the registry."""
    return registered_workloads.workloads()


@answering("il.kv_cache('llama3_8b', batch=8, context=4096)")
def kv_cache(name: str, batch: Number = 1, context: Number = 1, dtype: str = "fp16") -> Number:
    """Bytes of keys and values that a language model of the registry holds for `batch` sequences of `context` tokens."""
    return registered_workloads.kv_cache(name, batch, context, spelled(str(dtype)))


def as_graph(given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    if isinstance(given, str):
        return workload(given)
    raise BadValue(f"a graph is needed, and this is {kind_of(given)}; write il.capture(model, (x,)), or name a model of the registry")


def as_machine(given: Any) -> Hardware:
    if isinstance(given, Hardware):
        return given
    if isinstance(given, str):
        return machine_named(given)
    raise BadValue(f"a machine is needed, and this is {kind_of(given)}; write il.hardware('h200') or 'h200'")


def as_plan(given: Any) -> Plan:
    if given is None:
        return Plan()
    plan = Plan(mode=given) if isinstance(given, str) else given
    if not isinstance(plan, Plan):
        raise BadValue(f"a plan is needed, and this is {kind_of(given)}; write il.Plan(mode='compiled') or 'compiled'")
    if plan.host is None or isinstance(plan.host, Host):
        return plan
    return replace(plan, host=host(plan.host))
