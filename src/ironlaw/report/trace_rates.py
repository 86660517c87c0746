"""What a trace says of the machine it was taken on: its bandwidth, its rates, and what launching costs its host.

Long streams (element-wise ops whose tensors are several times the last cache) show the bandwidth. A product shows a rate; one too
small to reach the machine's best is scaled by how far a prediction of it stays under that of a large one. An op that launches costs
the host the time until the next begins, unless the host waited meanwhile; a profiler makes that longer, so it is an upper bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from statistics import median

from ironlaw.backends.evidence_moves import single_op, tensor
from ironlaw.engine.device.host import DEFAULT, Host
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.report.kineto import AtenOp, Kernel, Trace
from ironlaw.report.nsight import AGAIN, UNSAID
from ironlaw.report.trace_join import family

TYPES = {"float": "fp32", "c10::half": "fp16", "c10::bfloat16": "bf16", "double": "fp64"}
# what a kernel is called that reads a format, the first that fits: sums of narrow products are in float, too
NAMED = {
    "bf16": ("bfloat16", "bf16", "nvjet_t"), "fp16": ("half", "fp16", "hgemm", "h16816", "f16f16", "nvjet_h"),
    "fp64": ("double", "dgemm", "f64"), "fp32": ("float", "sgemm", "tf32", "f32", "simt"),
}  # fmt: skip
BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp64": 8}
# each reads tensors of one size, and writes one of them
STREAMS = (
    "add", "mul", "sub", "div", "relu", "gelu", "silu", "sigmoid", "tanh", "clone", "clamp_min", "threshold_backward", "gelu_backward",
    "silu_backward",
)  # fmt: skip
FAR = 4.0  # times the last cache, so that little of it is found there
LEAST_FLOPS = 5e9  # of a product that says something about a rate
LARGE = 8192  # side of the product that a machine's best rate is measured with
LEAST_SHARE = 0.3  # of that rate which a product must be expected to reach to count
FEWEST = 5  # ops of a kind before their median is its launch
LONGEST = 5e-4  # seconds of a launch: beyond that, the host did something else
HOST_KINDS = {"product": ("linear", "matmul", "bmm"), "convolution": ("conv2d",), "attention": ("attention",)}
ALIKE = {"fp16": "bf16", "bf16": "fp16"}  # one unit computes both


@dataclass(frozen=True)
class Seen:
    """One figure of the machine: from how many kernels, and what the registry says for it; SI units."""

    value: float
    known: float
    kernels: int


@dataclass(frozen=True)
class TraceRates:
    bandwidth: Seen | None
    rates: Mapping[str, Seen]  # by number format
    launches: Mapping[str, Seen]  # by op kind, as a host has them; "default" for the others

    @property
    def host(self) -> Host | None:
        return Host({kind: one.value for kind, one in self.launches.items()}, in_model=True, estimate=True) if self.launches else None


def read_rates(trace: Trace, machine: Hardware) -> TraceRates:
    """`machine`: the one of the registry that the trace is of."""
    if not trace.kernels:
        raise BadValue(
            f"{trace.name} holds no kernels of a GPU; profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]."
            " To measure a processor, run `ironlaw measure`"
        )
    if not any(op.inputs for op in trace.ops):
        how = AGAIN if trace.name.endswith(".sqlite") else "profile with torch.profiler.profile(activities=[…], record_shapes=True)"
        raise BadValue(f"{trace.name} does not say how large its tensors were; {how}")
    by_op: dict[int, list[Kernel]] = defaultdict(list)
    for kernel in trace.kernels:
        if kernel.op >= 0:
            by_op[kernel.op].append(kernel)
    done = [(trace.ops[i], kernels) for i, kernels in by_op.items()]
    server = machine.server() if machine.server else None
    return TraceRates(_bandwidth(done, machine), _rates(done, machine), _launches(trace, set(by_op), server))


def _bandwidth(done: list[tuple[AtenOp, list[Kernel]]], machine: Hardware) -> Seen | None:
    """The best median over streams of one size; None where all of them fit into a cache."""
    last = max((level.size for level in machine.levels[:-1]), default=0.0)
    rates: dict[object, list[float]] = defaultdict(list)
    for op, kernels in done:
        moved = _streamed(op, kernels) if len(kernels) == 1 else 0.0
        if moved > FAR * last:
            rates[op.name, op.inputs].append(moved / kernels[0].seconds)
    if not rates:
        return None
    best = max(median(each) for each in rates.values())
    return Seen(min(best, machine.bandwidth), machine.bandwidth, sum(map(len, rates.values())))


def _operands(op: AtenOp, kernels: list[Kernel]) -> list[tuple[str, tuple[int, ...]]]:
    """Format and sides of each input; Nsight Systems knows formats by the names of the kernels alone."""
    named = _named_format(kernels) if any(kind == UNSAID for kind, _ in op.inputs) else ""
    return [(named if kind == UNSAID else TYPES.get(kind.lower(), ""), sides) for kind, sides in op.inputs]


def _named_format(kernels: list[Kernel]) -> str:
    names = " ".join(k.name.lower() for k in kernels)
    return next((fmt for fmt, marks in NAMED.items() if any(mark in names for mark in marks)), "")


def _streamed(op: AtenOp, kernels: list[Kernel]) -> float:
    """Bytes that an element-wise op reads and writes; 0 where it is none, or broadcasts."""
    plain = op.name.removeprefix("aten::").rstrip("_")
    inputs = [(fmt, sides) for fmt, sides in _operands(op, kernels) if prod(sides) > 1]
    if plain not in STREAMS or not inputs or any(fmt == "" or sides != inputs[0][1] for fmt, sides in inputs):
        return 0.0
    size = prod(inputs[0][1])
    return float(sum(size * BYTES[fmt] for fmt, _ in inputs) + size * max(BYTES[fmt] for fmt, _ in inputs))


def _rates(done: list[tuple[AtenOp, list[Kernel]]], machine: Hardware) -> dict[str, Seen]:
    each: dict[str, list[float]] = defaultdict(list)
    shares: dict[tuple[str, tuple[int, int, int, int]], float] = {}
    for op, kernels in done:
        for fmt, sides in _product(op, kernels):
            flops = 2.0 * prod(sides)
            if flops < LEAST_FLOPS or fmt not in machine.peaks:
                continue
            if (fmt, sides) not in shares:
                shares[fmt, sides] = _share(fmt, sides, machine)
            if shares[fmt, sides] > LEAST_SHARE:
                each[fmt].append(flops / sum(k.seconds for k in kernels) / min(1.0, shares[fmt, sides]))
    found = {fmt: Seen(min(median(rates), machine.peaks[fmt]), machine.peaks[fmt], len(rates)) for fmt, rates in each.items()}
    for fmt, other in ALIKE.items():
        if fmt in found and other not in found and other in machine.peaks:
            found[other] = Seen(min(found[fmt].value, machine.peaks[other]), machine.peaks[other], 0)
    return found


def _product(op: AtenOp, kernels: list[Kernel]) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """Format and sides (products, m, n, k) of a matrix product; nothing where it is none, or FP32 with an unknown unit."""
    plain = op.name.removeprefix("aten::")
    operands = _operands(op, kernels)
    sides = [s for _, s in operands]
    if plain == "mm" and [len(s) for s in sides] == [2, 2]:
        shape = (1, sides[0][0], sides[1][1], sides[0][1])
    elif plain == "addmm" and len(sides) == 3 and len(sides[1]) == len(sides[2]) == 2:
        shape = (1, sides[1][0], sides[2][1], sides[1][1])
    elif plain == "bmm" and [len(s) for s in sides] == [3, 3]:
        shape = (sides[0][0], sides[0][1], sides[1][2], sides[0][2])
    else:
        return
    fmt = operands[-1][0]
    if fmt == "fp32":
        names = " ".join(k.name.lower() for k in kernels)
        fmt = "tf32" if "tf32" in names or "s1688" in names else "fp32" if "sgemm" in names or "simt" in names else ""
    if fmt:
        yield fmt, shape


def _share(fmt: str, sides: tuple[int, int, int, int], machine: Hardware) -> float:
    """How much of a large product's rate this one is expected to reach."""
    kept = "fp32" if fmt == "tf32" else fmt

    def rate(count: int, m: int, n: int, k: int) -> float:
        lead = (count,) if count > 1 else ()
        kind = "bmm" if count > 1 else "matmul"
        op = single_op(kind, [tensor((*lead, m, k), kept), tensor((*lead, k, n), kept)], [tensor((*lead, m, n), kept)])
        return 2.0 * count * m * n * k / float(predict(Graph("product", (op,), kept), machine).ops[0].seconds)

    return rate(*sides) / rate(1, LARGE, LARGE, LARGE)


def _launches(trace: Trace, launching: set[int], server: Host | None) -> dict[str, Seen]:
    """For each kind, the median time from the start of an op that launches to the start of the next one on the host."""
    outer = [i for i, op in enumerate(trace.ops) if op.parent < 0]
    active = {trace.chain(i)[0] for i in launching}
    spans: dict[str, list[float]] = defaultdict(list)
    for here, following in pairwise(outer):
        start, end = trace.ops[here].start, trace.ops[following].start
        waited = any(w.start < end and w.start + w.seconds > start for w in trace.waits)
        if here in active and not waited and 0 < end - start < LONGEST:
            spans[family(trace.ops[here].name)].append(end - start)
    if not spans:
        return {}
    products = {"linear", "matmul"}
    grouped: dict[str, list[float]] = defaultdict(list)
    for name, each in spans.items():
        grouped["product" if name in products else name] += each
    launches: dict[str, Seen] = {}
    others = [s for name, each in grouped.items() if name not in HOST_KINDS for s in each] or [s for each in grouped.values() for s in each]
    known = dict(server.launches) if server else {}
    launches[DEFAULT] = Seen(median(others), known.get(DEFAULT, 0.0), len(others))
    for name, kinds in HOST_KINDS.items():
        if len(grouped.get(name, ())) >= FEWEST:
            seconds = median(grouped[name])
            launches |= {kind: Seen(seconds, known.get(kind, 0.0), len(grouped[name])) for kind in kinds}
    return launches
