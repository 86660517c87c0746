"""`analyze(model, on=…)`: a model on several machines in several modes, with all that `ironlaw analyze` gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ironlaw.engine.advice.program import Sources
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.report.analyze_question import MODES, Analyze
from ironlaw.systems.call_arguments import answering
from ironlaw.systems.captures import Captures, stored
from ironlaw.tracing.capture import captured
from ironlaw.tracing.rehearsal import Rehearsal
from ironlaw.tracing.step_choices import steps

if TYPE_CHECKING:  # the report's pictures are imported only when there is one: `import ironlaw` stays light
    from ironlaw.report.analysis import Analysis


@answering("il.analyze('resnet50', on='h200'), or il.analyze(model, (x,), on='h200')")
def analyze(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    on: str | Hardware | Iterable[str | Hardware],
    modes: str | Sequence[str] = MODES,
    training: bool = False,
    host: Host | None = None,
    launch: float | None = None,
    per_day: float | None = None,
    **more: Any,
) -> Analysis:
    """Predict `model` on each machine of `on`, in each of `modes`; `print` it, show it in a notebook, or take its `to_records()`.

    `model` is an nn.Module or a function, captured as it would run with `args` and `kwargs` (nothing is run), or a Graph. Or it is what
    `ironlaw analyze` takes: a model of the registry, "my.py:net", "hf:LlamaConfig" or a folder. Then its other options go with it, by
    their names: `batch=(1, 16)`, `prefill=2048`, `decode=True`, `weights="own,int4"`, `price={"h200": 3.5}` (see `Analyze`); sizes that
    fit, phases and variants are in the answer.
    `on` names machines ("h200", "h200,t4" or a list). `host` and `launch` say who launches, as in a Plan; `per_day`: calls per day.
    A machine that can't run it is in `refused`, with the reason.

    >>> import ironlaw as il
    >>> a = il.analyze(il.workload("resnet50", batch=8), on="h200,t4", modes=["eager", "graphs"])
    >>> [(r["hardware"], r["mode"]) for r in a.to_records()]
    [('h200_sxm', 'eager'), ('h200_sxm', 'graphs'), ('t4', 'eager'), ('t4', 'graphs')]
    >>> a.fastest("h200_sxm").plan.mode
    'graphs'
    >>> [size.what for size in il.analyze("resnet50", on="h200").capacities]
    ['batch']
    """
    if not isinstance(on, (str, Hardware, Iterable)):
        raise BadValue(f"`on` names machines, and this is {on!r}; write on='h200' or on=['h200', 't4']")
    named: Any = [on] if isinstance(on, Hardware) else on if isinstance(on, str) else list(on)
    said: dict[str, Any] = {
        "mode": (modes,) if isinstance(modes, str) else tuple(modes),
        "training": training,
        "host": host,
        "launch": launch,
        "per_day": per_day,
        **more,
    }
    if isinstance(model, str):
        return Analyze(model, named, **said).analysis()
    if more.get("dtype") is not None:
        raise BadValue("a model given as an object keeps its own number format; call model.to(torch.bfloat16) first", "dtype")
    before = None if isinstance(model, Graph) else Rehearsal()
    graph = model if isinstance(model, Graph) else captured(model, args, kwargs, training=training, before=before)
    asked = Analyze(graph.name, named, **said | {"training": training or bool(graph.settings.get("training"))})
    if not asked.on or not asked.mode:
        raise BadValue("no machine or no mode was named; give on='h200' and modes=['eager']")
    changed = {}
    if not isinstance(model, Graph) and graph.settings.get("training"):
        changed = dict(steps(graph, partial(_again, model, args, kwargs, training, before)))
    return asked.of({"": _alone(graph, asked.weights, changed)}, {})


def _again(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None, training: bool, before: Any, times: int, changes: Collection[str]
) -> Graph:
    if times > 1:
        raise BadValue("what was handed in has one batch; the step can't be captured at another")
    return captured(model, args, kwargs, training=training, changes=changes, before=before)


def _alone(graph: Graph, weights: Sequence[str], changed: Mapping[frozenset[str], Graph]) -> Captures:
    """A graph that can't be built at another size."""
    graphs = {(graph.settings.get("batch"), fmt): stored(graph, fmt) for fmt in weights}
    return Captures(graph, graphs, (), (), None, Sources(next(iter(graphs.values())), steps=changed))
