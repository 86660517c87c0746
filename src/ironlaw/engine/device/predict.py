"""A graph of operators and a machine in, one frozen Prediction out.

Uncalibrated, every op takes max(D/BW, O/R) at the datasheet's figures: a bound, and labelled so. Calibrated, the
figures are curves fitted to what was measured on the machine (`ironlaw.calibration`); transferred, physics with constants that were
fitted to other machines (`ironlaw.calibration.transfer`). Either way the ops' device times and
the launches go through the same dispatch, and so do both ends of what overlap can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ironlaw.engine.arrays import Number, is_array, maximum, minimum, total
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.dispatch import Schedule, simulate
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.host import entered, model_factor, run_again
from ironlaw.engine.device.host_links import LINK, WAITS, link_cost
from ironlaw.engine.device.machine import NARROW, CostModel, Hardware, Plan
from ironlaw.engine.device.memory import Memory, footprint
from ironlaw.engine.device.narrow_products import with_scales
from ironlaw.engine.device.prediction import OpRow, Prediction, is_sweep
from ironlaw.engine.device.roofline import arithmetic, transfer
from ironlaw.engine.device.rounding import as_computed, narrowed_kinds
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import BEFORE, STORED, Graph, Op, Tensor
from ironlaw.engine.device.wires import on_wires, wire_cost
from ironlaw.engine.device.work import COLLECTIVE, UNCOMPILED, with_attrs
from ironlaw.engine.device.work import EAGER as LEFT
from ironlaw.engine.device.work import op as make_op
from ironlaw.engine.device.work.solver_work import WAITED_FOR
from ironlaw.errors import unknown

__all__ = ["OpRow", "Prediction", "bound", "is_sweep", "one_launch", "predict"]

EAGER = Plan()


def predict(graph: Graph, hardware: Hardware, plan: Plan = EAGER) -> Prediction:
    """How long `graph` takes on `hardware` when run as `plan` says, and where the time goes.

    >>> import ironlaw as il
    >>> p = il.predict(il.workload("gpt2", batch=8, seq=512), il.hardware("h200"), il.Plan(mode="compiled"))
    >>> p.bound, p.label, p.fits, p.interval[0] < p.seconds < p.interval[1]
    ('compute', 'calibrated', True, True)
    """
    hardware.peak(graph.dtype)
    plan = _launched_by(graph, hardware, plan)
    model = hardware.model(plan)
    captured = graph
    graph = _as_run(as_computed(graph, hardware, plan), hardware, plan, model)
    costs = _costs(graph, captured, hardware, plan, model)
    totals = _Totals(costs)
    schedule = _schedule(graph, captured, plan, hardware, model, costs)
    run = simulate(schedule, totals.each(lambda c: c.device))
    low = run.wall if model is None else simulate(schedule, totals.each(_overlapped)).wall
    high = simulate(schedule, totals.each(_sequential)).wall
    return Prediction(
        graph, hardware, plan, tuple(OpRow(op, cost, hardware) for op, cost in zip(graph.ops, costs, strict=True)), run, (low, high),
        totals.sum(lambda c: c.data), totals.sum(lambda c: c.compute), run.wall - run.busy + totals.sum(lambda c: c.floor),
        totals.sum(lambda c: c.kernels), hardware.basis(plan), _sources(graph, hardware, plan, model),
    )  # fmt: skip


def prepare(graph: Graph, hardware: Hardware, plan: Plan) -> None:
    """Works out ahead of time what a prediction keeps with the graph: which ops become one kernel."""
    _as_run(as_computed(graph, hardware, plan), hardware, plan, hardware.model(plan))


def memory(graph: Graph, hardware: Hardware, plan: Plan = EAGER) -> Memory:
    """What it needs of the machine's memory, as a prediction says, without its times."""
    model = hardware.model(plan)
    run = _as_run(as_computed(graph, hardware, plan), hardware, plan, model)
    return footprint(run, hardware, [cost.scratch for cost in _costs(run, graph, hardware, plan, model)])


def device_costs(graph: Graph, hardware: Hardware, plan: Plan = EAGER) -> tuple[Graph, list[Cost]]:
    """The graph that runs and what each of its ops takes, as a prediction has them, without the order in which they do."""
    plan = _launched_by(graph, hardware, plan)
    model = hardware.model(plan)
    run = _as_run(as_computed(graph, hardware, plan), hardware, plan, model)
    return run, _costs(run, graph, hardware, plan, model)


def _launched_by(graph: Graph, hardware: Hardware, plan: Plan) -> Plan:
    """A captured model is launched by the same typical server for every GPU, unless the plan names a host."""
    bare = plan.host is None and plan.launch is None and hardware.basis(plan) != "bound"
    return replace(plan, host=hardware.server()) if bare and hardware.server is not None and graph.settings.get("captured") else plan


def _as_run(graph: Graph, hardware: Hardware, plan: Plan, model: CostModel | None) -> Graph:
    """The graph that the plan runs: as it is, or fused. The result is cached on the graph."""
    if plan.lowering == "eager":
        return as_recorded(graph) if plan.replayed else graph
    if model is None:
        return fuse(graph).graph
    key = (model.backend, model.rules, hardware.slug)
    run: Graph | None = graph.plans.get(key)
    if run is None:
        before = graph.plans.get(BEFORE)
        fused = fuse(model.prepare(graph, hardware), model.rules, model.prepare(before, hardware) if before else None).graph
        run = graph.plans[key] = replace(fused, ops=model.arrange(fused.ops))
    return run


def as_recorded(graph: Graph) -> Graph:
    """The eager graph that a recording holds: transformers leaves out a mask that hides nothing, but not while a graph is recorded, and
    with it no fused attention takes the operands. A graph remembers it."""
    recorded: Graph | None = graph.plans.get(as_recorded)
    if recorded is None:
        masked = [op.kind == "attention" and op.attrs.get("mask") == "bidirectional" for op in graph.ops]
        ops = tuple(with_attrs(op, path="math") if spelled else op for op, spelled in zip(graph.ops, masked, strict=True))
        recorded = graph.plans[as_recorded] = replace(graph, ops=ops) if any(masked) else graph
    return recorded


def _overlapped(cost: Cost) -> Number:
    return total((cost.floor, maximum(cost.data, cost.compute)))


def _sequential(cost: Cost) -> Number:
    return total((cost.floor, cost.data, cost.compute))


class _Totals:
    """Sums over ops that do the arithmetic once for equal ops: a sweep's arrays are long, a model repeats its layers."""

    def __init__(self, costs: Sequence[Cost]) -> None:
        self.costs = costs
        self.counts: dict[int, tuple[Cost, int]] = {}
        for cost in costs:
            self.counts[id(cost)] = (cost, self.counts.get(id(cost), (cost, 0))[1] + 1)

    def sum(self, term: Callable[[Cost], Number]) -> Number:
        return points(total(count * term(cost) for cost, count in self.counts.values()))

    def each(self, term: Callable[[Cost], Number]) -> list[Number]:
        values = {key: term(cost) for key, (cost, _) in self.counts.items()}
        return [values[id(cost)] for cost in self.costs]


def _costs(graph: Graph, captured: Graph, hardware: Hardware, plan: Plan, model: CostModel | None) -> list[Cost]:
    """The cost of each op; ops with equal keys are computed once."""
    lasting: dict[Any, Cost] = model.known(hardware, plan) if model else {}
    known: dict[Any, Cost] = {}
    seen: dict[int, Cost] = {}  # by the key itself, which is long to look through: the ops of a capture share those that are equal
    costs = []
    for op in graph.ops:
        if LINK in op.attrs and hardware.dispatch == "queued":
            launch = float(hardware.launcher(plan).launch(op, plan.lowering, 1.0)) if plan.launch is None else plan.launch
            costs.append(link_cost(op, hardware.host_wire, launch, model is not None))
            continue
        if COLLECTIVE in op.attrs and (sent := _sent(op, hardware, plan, model)) is not None:
            costs.append(sent)
            continue
        key = op.key
        cost = seen.get(id(key))
        if cost is None:
            cost = lasting.get(key) or known.get(key)
            if cost is None:
                cost = with_scales(op, model.cost(op, hardware, plan) if model else bound(op, hardware, plan, graph.dtype), hardware)
                (known if model is None or _swept(op) else lasting)[key] = cost
            seen[id(key)] = cost
        costs.append(cost)
    return model.sustain(_launched(graph, captured, hardware, plan, costs)) if model else costs


def _sent(op: Op, hardware: Hardware, plan: Plan, model: CostModel | None) -> Cost | None:
    if COLLECTIVE not in op.attrs or hardware.dispatch != "queued":
        return None
    launch = float(hardware.launcher(plan).launch(op, plan.lowering, 1.0)) if plan.launch is None else plan.launch
    return wire_cost(op, hardware, float(launch), model is not None)


def _launched(graph: Graph, captured: Graph, hardware: Hardware, plan: Plan, costs: list[Cost]) -> list[Cost]:
    """With what the code around them and autograd add to the launches of a queue; a launch that is given stands as it is."""
    if plan.launch is not None or hardware.dispatch != "queued" or not graph.settings.get("captured") or hardware.launcher(plan).in_model:
        return costs
    ends = captured.settings.get("backwards") or (len(captured.ops),)
    after = {op.name for op in captured.ops[ends[-1] :]}
    scaled: dict[tuple[int, float, float], Cost] = {}
    factors: dict[tuple[bool, bool, bool], float] = {}  # by what `model_factor` looks at
    default = hardware.launcher(plan).default
    again = captured.settings.get("again")
    launched = []
    for op, cost in zip(graph.ops, costs, strict=True):
        form = op.attrs.get(UNCOMPILED) == LEFT, op.kind == "foreach", op.name in after
        factor = factors.get(form)
        if factor is None:
            factor = factors[form] = model_factor(graph.settings, op, plan.lowering, form[2])
        more = run_again(captured.settings, op) if again else 0.0
        key = id(cost), factor, more
        if key not in scaled:
            scaled[key] = replace(cost, launch=factor * cost.launch + more * default)
        launched.append(scaled[key])
    return launched


def _swept(op: Op) -> bool:
    """Whether a size is an array: its key then holds only as long as the array does."""
    return is_array(op.work.flops, op.work.read, op.work.written, *(d for t in (*op.inputs, *op.outputs) for d in t.shape))


def bound(op: Op, hardware: Hardware, plan: Plan, dtype: str) -> Cost:
    """The Iron Law at the datasheet's figures."""
    fmt = op.dtype
    if fmt not in hardware.peaks and fmt not in hardware.vector and op.work.kind == "vector":
        fmt = dtype  # index arithmetic and casts: the machine's own format for the graph
    launch = hardware.launcher(plan).launch(op, plan.lowering, 1.0) if plan.launch is None else plan.launch
    if hardware.dispatch == "replayed":
        launch = 0.0
    work = op.work
    compute = arithmetic(work, hardware, fmt) / plan.efficiency
    return Cost(transfer(op, hardware), compute, 0.0, work.launches, work.launches * launch)


def _schedule(graph: Graph, captured: Graph, plan: Plan, hardware: Hardware, model: CostModel | None, costs: Sequence[Cost]) -> Schedule:
    """How the launches of these ops and their kernels interleave on the device."""
    host = hardware.launcher(plan)
    if plan.replayed or hardware.dispatch == "replayed":
        start, gap = host.graph_start if plan.launch is None else plan.launch, model.graph_gap if model else 0.0
        return Schedule("replayed", start=start, gap=gap, counts=[c.kernels for c in costs])
    launches = [c.launch for c in costs]
    if plan.mode == "compiled":
        launches[0] = launches[0] + (entered(host, graph.settings, hardware.dispatch) if plan.launch is None else host.entry)
    waits = [bool(op.attrs.get(WAITS)) or (op.kind == "solver" and op.attrs["how"] in WAITED_FOR) for op in graph.ops]
    dispatch = "queued" if plan.dispatch == hardware.dispatch == "queued" else "synchronous"
    sends, joins = on_wires(graph, captured, [_sent(op, hardware, plan, model) for op in graph.ops]) if _together(graph) else ((), ())
    return Schedule(dispatch, launches, waits=waits if any(waits) else (), sends=sends, joins=joins)


def _together(graph: Graph) -> bool:
    return any(COLLECTIVE in op.attrs for op in graph.ops)


def _sources(graph: Graph, hardware: Hardware, plan: Plan, model: CostModel | None) -> tuple[str, ...]:
    narrow = narrowed_kinds(graph)
    if model:
        used = list(model.sources)
        if hardware.basis(plan) == "transferred":
            used += [f"{name}: {one.source}, {one.date}" for name, one in hardware.figures.items() if name.startswith("achieved.")]
    else:
        peaks = (f"peak.{graph.dtype}", *((f"peak.{NARROW}",) if narrow else ()), f"vector.{graph.dtype}")
        used = [
            f"{name}: {hardware.figures[name].source}, {hardware.figures[name].date}"
            for name in dict.fromkeys((*peaks, "bandwidth", *(("launch",) if plan.launch is None else ())))
            if name in hardware.figures
        ]
        if hardware.activations:
            level = hardware.level(hardware.activations)
            used.append(f"{level.label} bandwidth: {level.source}, {level.date}")
    if narrow:
        used.append(f"fp32: {', '.join(narrow)} in tf32, {'as asked for' if plan.fp32 == NARROW else 'the default'}; all else in fp32")
    if plan.launch is not None:
        used.append("launch: given in the plan")
    return (*used, *_host_sources(hardware, plan), *(said for said in hardware.caveats if model is None or not said.startswith("bound:")))


def _host_sources(hardware: Hardware, plan: Plan) -> tuple[str, ...]:
    """Where the launches of a host that was asked for come from; the device's own evidence says so already."""
    if plan.host is None:
        return ()
    if hardware.launcher(plan) is not plan.host:
        return (f"host: {hardware.slug} launches by itself, so {plan.host.name or plan.host.slug} is not used",)
    source = ", ".join(filter(None, (plan.host.source, plan.host.date)))
    return (f"host: {plan.host.label}; {source or 'given in the plan'}", *plan.host.caveats)


def one_launch(graph: Graph, traffic: str = "weights") -> Graph:
    """The whole graph as one op: one launch, all its arithmetic.

    traffic "weights": only weights, caches and the graph's own inputs and outputs cross memory, all else stays on chip;
    "ops": every op's tensors do.
    """
    if traffic not in ("weights", "ops"):
        raise unknown("traffic", traffic, ("weights", "ops"))
    whole = graph.work
    outside = _outside_reads(graph)
    outputs: tuple[Tensor, ...] = tuple(graph.tensors[name] for name in graph.outputs)
    if traffic == "weights":
        inputs = tuple(graph.tensors[name] for name in outside)
        reads, writes = tuple(outside.values()), tuple(t.bytes for t in outputs)
    else:
        stored = total(count for op in graph.ops for t, count in zip(op.inputs, op.reads, strict=True) if t.role in STORED)
        inputs, outputs = (Tensor("in", (1.0,), graph.dtype), Tensor("weights", (1.0,), graph.dtype, "weight")), outputs[:1]
        reads, writes = (whole.read - stored, stored), (whole.written,)
    counts = {"matmul": whole.matmul_flops, "vector": whole.flops - whole.matmul_flops, "reads": reads, "writes": writes}
    op = make_op("block", graph.name, inputs, outputs, dtype=graph.dtype, **counts)
    return Graph(f"{graph.name} as one launch", (op,), graph.dtype, graph.settings, tuple(t.name for t in outputs))


def _outside_reads(graph: Graph) -> dict[str, Number]:
    """Bytes read of each tensor that no op makes: of a table the rows that are looked up, of any other all, once."""
    reads: dict[str, Number] = {}
    for op in graph.ops:
        for t, count in zip(op.inputs, op.reads, strict=True):
            if t.role != "activation":
                reads[t.name] = minimum(reads.get(t.name, 0.0) + count, graph.tensors[t.name].bytes)
    return reads
