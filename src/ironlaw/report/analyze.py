"""`analyze(model, args, on=…)`: a model on several machines in several modes, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError
from ironlaw.registry.machines import hardware
from ironlaw.tracing import capture

if TYPE_CHECKING:  # the report's pictures are imported only when there is one: `import ironlaw` stays light
    from ironlaw.report.analysis import Analysis

MODES = ("eager", "compiled", "graphs")


def analyze(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    on: str | Hardware | Iterable[str | Hardware],
    modes: Sequence[str] = MODES,
    training: bool = False,
    host: Host | None = None,
    launch: float | None = None,
    per_day: float | None = None,
) -> Analysis:
    """Predict `model` on each machine of `on`, in each of `modes`; `print` it, show it in a notebook, or take its `to_records()`.

    `model` is an nn.Module or a function, captured as it would run with `args` and `kwargs` (nothing is run), or a Graph.
    `on` names machines ("h200", "h200,t4" or a list). `host` and `launch` say who launches, as in a Plan; `per_day`: calls a day.
    A machine that can't run it is in `refused`, with the reason.

    >>> import ironlaw as il
    >>> a = il.analyze(il.workload("resnet50", batch=8), on="h200,t4", modes=["eager", "graphs"])
    >>> [(r["hardware"], r["mode"]) for r in a.to_records()]
    [('h200_sxm', 'eager'), ('h200_sxm', 'graphs'), ('t4', 'eager'), ('t4', 'graphs')]
    >>> a.fastest("h200_sxm").plan.mode
    'graphs'
    """
    from ironlaw.report.analysis import Analysis, compiling

    graph = model if isinstance(model, Graph) else capture(model, args, kwargs, training=training)
    plans = [Plan(mode, host=host, launch=launch) for mode in (("eager",) if graph.settings.get("training") else modes)]
    able: list[Prediction] = []
    refused: dict[str, str] = {}
    for machine in machines(on):
        try:
            able += [predict(graph, machine, plan) for plan in plans]
        except IronlawError as error:
            refused[machine.slug] = str(error)
    if not able:
        raise BadValue("; ".join(refused.values()) or "no machine or no mode was named; give on='h200' and modes=['eager']")
    return Analysis(graph, tuple(able), graph.name, refused, compiling(able), per_day)


def machines(on: str | Hardware | Iterable[str | Hardware]) -> list[Hardware]:
    """`"h200,t4"`, a machine, or a list of either; a machine that is named twice counts once."""
    several = on.split(",") if isinstance(on, str) else [on] if isinstance(on, Hardware) else list(on)
    known = [one if isinstance(one, Hardware) else hardware(one.strip()) for one in several]
    return list({machine.slug: machine for machine in known}.values())
