"""A trace joined with a prediction: which run of which ATen op is which predicted op, and what is left over on either side.

Both are sequences of ATen ops. An op of the trace is taken at the outermost call that the prediction also has (a kernel of
`cudnn_convolution` belongs to the `convolution` around it), the two sequences are aligned in order, and where the
trace holds several runs the median of them is compared. Nothing is dropped: what has no partner is listed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.engine.device.work import KINDS
from ironlaw.report.align import align
from ironlaw.report.kineto import Trace
from ironlaw.report.trace_idle import Whereabouts, is_collective, whereabouts

# one computation under the names that its versions have
FAMILIES = (
    ("scaled_dot_product", "attention"), ("flash_attention", "attention"), ("efficient_attention", "attention"), ("attention", "attention"),
    *((name, name) for name, kind in KINDS.items() if kind.family == "norm" and not kind.like),
    ("convolution", "convolution"), ("conv2d", "convolution"), ("conv1d", "convolution"), ("conv3d", "convolution"),
    ("dropout", "dropout"), ("log_softmax", "log_softmax"), ("softmax", "softmax"), ("max_pool", "max_pool"), ("avg_pool", "avg_pool"),
)  # fmt: skip
GENERATED = "triton_"
LIBRARY = ("contraction", "attention")  # what torch.compile leaves to a library
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "_addmm_activation")


def family(name: str) -> str:
    """`aten::cudnn_convolution` and `convolution` are one; `add_` is `add`."""
    plain = name.rpartition("::")[2]
    plain = plain if plain.startswith("__") else plain.rstrip("_")
    end = "_backward" if "backward" in plain else ""
    if plain in PRODUCTS:
        return "product"
    return next((whole + end for part, whole in FAMILIES if part in plain), plain)


@dataclass
class Call:
    """An ATen op of the trace with everything it launched; on a CPU it is its own kernel."""

    name: str
    start: float
    seconds: float = 0.0
    kernels: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pair:
    """A predicted ATen call (its rows) and its measurement, in seconds on the device."""

    rows: tuple[OpRow, ...]
    aten: str  # as the trace names it
    measured: float
    kernels: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.rows[0].name

    @property
    def kind(self) -> str:
        return " + ".join(row.kind for row in self.rows)

    @property
    def predicted(self) -> float:
        return sum(float(row.seconds) for row in self.rows)

    @property
    def gap(self) -> float:
        return self.measured - self.predicted


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Ops of one name without a partner: how many a run, and what they take together."""

    name: str
    count: float
    seconds: float


@dataclass(frozen=True)
class TraceJoin:
    prediction: Prediction
    trace: Trace
    pairs: tuple[Pair, ...]
    missing: tuple[Unmatched, ...]  # predicted, not in the trace
    extra: tuple[Unmatched, ...]  # in the trace, not predicted
    runs: int
    ranks: tuple[Whereabouts, ...] = ()  # where the time went, of each trace that was given

    @property
    def on_device(self) -> bool:
        return bool(self.trace.kernels)

    @property
    def elsewhere(self) -> str:
        """What must be said where the trace is of another device than the prediction; empty where it may be the same."""
        machine, device = self.prediction.hardware, self.trace.device
        if not self.on_device and machine.kind != "cpu":
            return (
                f"the trace is of a processor and the prediction of {machine.name}, so that the gaps say nothing about either;"
                " trace a run on that machine, or predict for a processor with --on"
            )
        chip = next((word for word in _words(device) if any(map(str.isdigit, word))), "")  # A100 of NVIDIA A100-SXM4-80GB
        if self.on_device and chip and chip not in _words(" ".join((machine.slug, machine.name, *machine.aliases))):
            return f"the trace is of {device} and the prediction of {machine.name}; predict for the machine of the trace with --on"
        return ""

    @property
    def predicted(self) -> float:
        return sum(pair.predicted for pair in self.pairs) + sum(op.seconds for op in self.missing)

    @property
    def measured(self) -> float:
        return sum(pair.measured for pair in self.pairs) + sum(op.seconds for op in self.extra)

    def widest(self, count: int) -> list[Pair]:
        return sorted(self.pairs, key=lambda pair: -abs(pair.gap))[:count]


def _words(text: str) -> list[str]:
    return re.split("[^a-z0-9]+", text.lower())


def is_compiled(trace: Trace) -> bool:
    """Whether torch.compile generated kernels of it: those have no operator's name."""
    return any(kernel.name.startswith(GENERATED) for kernel in trace.kernels)


def join(prediction: Prediction, trace: Trace, others: Sequence[Trace] = ()) -> TraceJoin:
    """`prediction` is of an eager run of a captured graph, op by op as PyTorch calls them; or of a compiled one, where the trace is.
    `others`: traces of the run's other ranks."""
    joined = _totals(prediction, trace) if is_compiled(trace) else _by_op(prediction, trace)
    return replace(joined, ranks=whereabouts((trace, *others)))


def _totals(prediction: Prediction, trace: Trace) -> TraceJoin:
    """Generated kernels together, and those of libraries: which operator is in which is not in the trace."""
    runs = max(1, len(trace.steps))

    def sums(each: Iterable[tuple[bool, float, float]], runs: int) -> tuple[Unmatched, ...]:
        found = [*each]
        names = ((True, "generated kernels"), (False, "library kernels"))
        return tuple(
            Unmatched(name, sum(n for g, n, _ in found if g == made) / runs, sum(s for g, _, s in found if g == made) / runs)
            for made, name in names
        )

    rows = ((KINDS[row.kind].category not in LIBRARY, float(row.kernels), float(row.seconds)) for row in prediction.ops)
    kernels = ((k.name.startswith(GENERATED), 1.0, k.seconds) for k in trace.kernels if not is_collective(k))
    return TraceJoin(prediction, trace, (), sums(rows, 1), sums(kernels, runs), runs)


def _by_op(prediction: Prediction, trace: Trace) -> TraceJoin:
    predicted = calls_predicted(prediction)
    names = [family(call.aten) for call in predicted]
    calls, strangers = _calls_measured(trace, set(names))
    runs, outside = _runs(calls, trace.steps, len(names))
    partners: list[list[Call]] = [[] for _ in predicted]
    spare: list[Call] = [*strangers, *outside]
    for run in runs:
        pairs = align(names, [family(call.name) for call in run])
        for i, j in pairs:
            partners[i].append(run[j])
        taken = {j for _, j in pairs}
        spare += [call for j, call in enumerate(run) if j not in taken]
    both = list(zip(predicted, partners, strict=True))
    matched = [_pair(call.rows, runs_of_it) for call, runs_of_it in both if runs_of_it]
    lost = [(call.aten, sum(float(row.seconds) for row in call.rows)) for call, runs_of_it in both if not runs_of_it]
    count = max(1, len(runs))
    extra = _unmatched([(call.name, call.seconds) for call in spare], count)
    return TraceJoin(prediction, trace, tuple(matched), _unmatched(lost, 1), extra, count)


@dataclass
class PredictedCall:
    """An ATen call as capture saw it, and what is predicted for its ops."""

    aten: str
    rows: list[OpRow]


def calls_predicted(prediction: Prediction) -> list[PredictedCall]:
    """Rows of one ATen call together. Capture says which call an op came from; without a capture, each op is a call of its own."""
    calls: dict[object, PredictedCall] = {}
    known = prediction.graph.settings.get("calls") or [(row.kind, i) for i, row in enumerate(prediction.ops)]
    for row, (aten, number) in zip(prediction.ops, known, strict=True):
        calls.setdefault(number, PredictedCall(aten, [])).rows.append(row)
    return list(calls.values())


def _calls_measured(trace: Trace, wanted: set[str]) -> tuple[list[Call], list[Call]]:
    """Calls that the prediction may have, and all others that took time on the device, each in order."""
    calls: dict[int, Call] = {}
    others: dict[int, Call] = {}
    loose: list[Call] = []
    outer = _outermost(trace, wanted)
    if not trace.kernels:
        for i, op in enumerate(trace.ops):
            if outer[i] == i:
                calls[i] = Call(op.name, op.start, op.seconds, [op.name])
            elif outer[i] < 0 and op.leaf:
                others[i] = Call(op.name, op.start, op.seconds, [op.name])
    for kernel in trace.kernels:
        if kernel.op < 0:
            loose.append(Call(kernel.name, 0.0, kernel.seconds, [kernel.name]))
            continue
        at = outer[kernel.op]
        place, kept = (at, calls) if at >= 0 else (kernel.op, others)
        call = kept.setdefault(place, Call(trace.ops[place].name, trace.ops[place].start))
        call.seconds += kernel.seconds
        call.kernels.append(kernel.name)
    return [calls[i] for i in sorted(calls)], [*(others[i] for i in sorted(others)), *loose]


def _outermost(trace: Trace, wanted: set[str]) -> list[int]:
    """For each op the outermost of its callers (or itself) that the prediction has; -1 where none is. Callers come first."""
    outer: list[int] = []
    for i, op in enumerate(trace.ops):
        above = outer[op.parent] if op.parent >= 0 else -1
        outer.append(above if above >= 0 else i if family(op.name) in wanted else -1)
    return outer


def _runs(calls: list[Call], steps: Sequence[tuple[float, float]], expected: int) -> tuple[list[list[Call]], list[Call]]:
    """The calls of each run, and those outside all of them. Without ProfilerStep, a sequence that repeats is cut where it does."""
    if steps:
        runs = [[call for call in calls if start <= call.start < end] for start, end in steps]
        inside = {id(call) for run in runs for call in run}
        return [run for run in runs if run], [call for call in calls if id(call) not in inside]
    times = round(len(calls) / expected) if expected else 1
    if times > 1 and len(calls) % times == 0:
        length = len(calls) // times
        names = [family(call.name) for call in calls]
        if names == names[:length] * times:
            return [calls[k * length : (k + 1) * length] for k in range(times)], []
    return [calls], []


def _pair(rows: list[OpRow], calls: list[Call]) -> Pair:
    middle = sorted(calls, key=lambda call: call.seconds)[len(calls) // 2]
    return Pair(tuple(rows), calls[0].name, median(call.seconds for call in calls), tuple(middle.kernels))


def _unmatched(ops: Iterable[tuple[str, float]], runs: int) -> tuple[Unmatched, ...]:
    times: dict[str, list[float]] = defaultdict(list)
    for name, seconds in ops:
        times[name].append(seconds)
    grouped = [Unmatched(name, len(each) / runs, sum(each) / runs) for name, each in times.items()]
    return tuple(sorted(grouped, key=lambda op: -op.seconds))
