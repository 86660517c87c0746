"""What must be in memory at once: weights, KV cache, live activations; and what fits beside what the system keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from ironlaw.engine.arrays import SCALARS, Number, maximum
from ironlaw.engine.device.allocator import Requests
from ironlaw.engine.device.buffer_reuse import begun, read_last, reused
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Graph, Op, bytes_per_element, check_positive
from ironlaw.engine.device.work import category

WORKSPACE = 32.0 * 2**20  # bytes: PyTorch's default on Hopper; small models of benchmarks/sealed_sets/own-1 take 34 to 36 MB more
MARGIN, WIDE_MARGIN = 0.1, 0.3  # over what the allocator needs, of a captured model; trained or compiled (benchmarks/device/fits.py)
LEAST_MARGIN = 256.0 * 2**20  # bytes: small models missed by what libraries load and try at first, whatever their size
SPARSE = 3.0  # times its tensors: an allocator never needed more room
OPTIMISER = "optimiser"  # a phase of a captured step
LIVE = "live_profile"  # among what a graph remembers
OTHERS = ("conv2d", "conv_transpose2d", "conv_backward", "recurrent", "fused", "block")  # contractions of others, or of several ops


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes, by what they are for, against what the machine has."""

    weights: Number
    kv_cache: Number
    activations: Number
    capacity: Number
    reserved: Number = 0.0  # of the capacity: what error correction, driver, runtime and operating system keep
    flash: Number = 0.0  # where weights lie that are not in main memory; 0: they are in it
    workspace: Number = 0.0  # what the library of products keeps for itself
    requests: Callable[[], Requests] | None = field(default=None, compare=False)  # of a captured model on a GPU
    margin: float = 0.0  # what has to be left free for a promise that it fits, over what is needed beside the weights

    @property
    def resident_weights(self) -> Number:
        """The weights that are in main memory: none where they are read from flash."""
        return 0.0 * self.weights if self.flash else self.weights

    @property
    def total(self) -> Number:
        """What main memory has to hold."""
        return self.resident_weights + self.kv_cache + self.activations + self.workspace

    @property
    def usable(self) -> Number:
        return self.capacity - self.reserved

    @property
    def segments(self) -> Number:
        """What PyTorch's allocator takes from the GPU for it, with what lies free between tensors."""
        return max(float(self.total), float(self.requests().unlimited)) if self.requests else self.total

    @property
    def room(self) -> Number:
        """What may be taken so that the margin is left."""
        return spared(self.usable, self.weights, self.margin)

    @property
    def fits(self) -> Number:
        room = self.room
        enough = self.total <= room
        if self.requests and enough and SPARSE * self.total > room:
            return self.requests().fit(float(room))
        return enough & (self.weights <= self.flash) if self.flash else enough

    @property
    def headroom(self) -> Number:
        """Bytes to spare; negative where it does not fit."""
        return self.usable - self.total


def spared(usable: Number, weights: Number, margin: float) -> Number:
    """What may be taken of `usable` so that the margin is left: a share of all but the weights, which are known to the byte, and at least
    `LEAST_MARGIN`."""
    return min((usable + margin * weights) / (1.0 + margin), usable - LEAST_MARGIN) if margin else usable


def footprint(graph: Graph, hardware: Hardware | None = None, scratch: Sequence[Number] = ()) -> Memory:
    """What a graph needs, against a machine; without one, against no limit. `scratch`: what each op of a captured model takes for itself
    while it runs."""
    needs = (
        graph.weight_bytes + unread(graph, "weights"),
        graph.cache_bytes,
        live_activations(graph, scratch if graph.settings.get("captured") else ()),
    )
    if hardware is None:
        return Memory(*needs, float("inf"))
    kept = workspace(graph, hardware)
    captured = hardware.dispatch == "queued" and graph.settings.get("captured") and all(isinstance(need, SCALARS) for need in needs)
    asked = cache(lambda: requests(graph, kept, scratch, tuning(graph, hardware))) if captured else None
    margin = 0.0 if asked is None else WIDE_MARGIN if compiled(graph) or graph.settings.get("training") else MARGIN
    return Memory(*needs, hardware.capacity, hardware.reserved, hardware.flash, kept, asked, margin)


def unread(graph: Graph, what: str) -> float:
    """Bytes of "weights" or "inputs" that are in memory and that no op of a captured model reads."""
    return float(graph.settings.get("unread", {}).get(what, 0.0))


def tuning(graph: Graph, hardware: Hardware) -> float:
    """Bytes with which Inductor empties the L2 cache before each trial of a kernel that it wrote: in the first call, beside all else."""
    caches = [level.size for level in hardware.levels if level.name == "l2"]
    return caches[0] if caches and compiled(graph) else 0.0


def requests(graph: Graph, workspace: float = 0.0, scratch: Sequence[Number] = (), tried: float = 0.0) -> Requests:
    """What a captured model asks of the allocator. `workspace`: bytes that cuBLAS keeps, from a thread's first product on; `scratch`: what
    each op takes while it runs; `tried`: what the first call of a generated kernel takes. An optimiser makes its state in its first step,
    where the backward pass has left room."""
    begun = once(graph, round(workspace / WORKSPACE))
    late = {name for made in begun.values() for name, _ in made}
    sizes = [float(t.bytes) for t in graph.tensors.values() if t.role != "activation" and float(t.bytes) > 0 and t.name not in late]
    sizes += [size for size in (unread(graph, "weights"), unread(graph, "inputs")) if size]
    resident, places = len(sizes), dict[str, int]()
    first, order = list[int](), list[int]()

    def take(size: Number, *orders: list[int]) -> int:
        for one in orders:
            one.append(len(sizes))
        sizes.append(float(size))
        return len(sizes) - 1

    def give(place: int, *orders: list[int]) -> None:
        for one in orders:
            one.append(~place)

    for i, (made, gone) in enumerate(lifetimes(graph)):
        for _, size in begun.get(i, ()):
            take(size, first)
        for name, size in made:
            if size > 0:
                places[name] = take(size, first, order)
        if i < len(scratch) and float(scratch[i]) > 0:
            give(take(scratch[i], first, order), first, order)
        if tried and graph.ops[i].kind == "fused":
            give(take(tried, first), first)
        for name in gone:
            if name in places:
                give(places.pop(name), first, order)
    for place in places.values():
        give(place, first, order)
    return Requests(tuple(sizes), tuple(order), resident, tuple(first))


def once(graph: Graph, workspaces: int) -> dict[int, list[tuple[str, float]]]:
    """Op -> what the first call makes with it and keeps, with its bytes: workspaces of the products, one for each thread, and the state
    of an optimiser."""
    phases, found = graph.settings.get("phases", {}), dict[int, list[tuple[str, float]]]()
    products = [i for i, op in enumerate(graph.ops) if is_product(op)]
    back = [i for i in products if phases.get(graph.ops[i].name)] or products
    for number, i in enumerate([*products[:1], *back[:1]][:workspaces]):
        found.setdefault(i, []).append((f"workspace {number}", WORKSPACE))
    updates = [i for i, op in enumerate(graph.ops) if phases.get(op.name) == OPTIMISER]
    if updates:
        before = {t.name for op in graph.ops[: updates[0]] for t in op.inputs}
        state = [(t.name, float(t.bytes)) for t in graph.tensors.values() if t.role == "buffer" and t.name not in before]
        found.setdefault(updates[0], []).extend(state)
    return found


def is_product(op: Op) -> bool:
    return category(op.kind) == "contraction" and op.kind not in OTHERS


def workspace(graph: Graph, hardware: Hardware) -> float:
    """Bytes that PyTorch gives to cuBLAS with a thread's first product of a captured model and never takes back: autograd has a thread of
    its own. Older GPUs than Hopper need a quarter."""
    library = hardware.dispatch == "queued" and graph.settings.get("captured")
    if not library or not any(map(is_product, graph.ops)):
        return 0.0
    return 2 * WORKSPACE if graph.settings.get("training") else WORKSPACE


def live_activations(graph: Graph, scratch: Sequence[Number] = ()) -> Number:
    """The largest sum of activations alive at once, and of what ops take for themselves meanwhile."""
    first, *later = live_profile(graph)
    later = [live + more for live, more in zip(later, scratch, strict=True)] if scratch else later
    for live in later:
        first = maximum(first, live)
    return first


def live_profile(graph: Graph) -> list[Number]:
    """Bytes alive before the first op (the inputs), then while each op runs: from the op that makes a tensor to the last that reads it.

    Of a model captured as it runs, from the op that makes a storage to where Python lets it go (`held`). What a view makes, or an op that
    writes in place (attr `inplace`), is the memory of another tensor under another name. Added up once for a graph: it is held against one
    machine after the other.
    """
    if LIVE not in graph.plans:
        graph.plans[LIVE] = _added_up(graph)
    curve: list[Number] = graph.plans[LIVE]
    return curve


def _added_up(graph: Graph) -> list[Number]:
    live: Number = sum(t.bytes for t in graph.tensors.values() if t.role == "input") + unread(graph, "inputs")
    curve: list[Number] = [live]
    sizes: dict[str, Number] = {}
    for made, gone in lifetimes(graph):
        sizes.update(made)
        live = live + sum(size for _, size in made)
        curve.append(live)
        for name in gone:
            live = live - sizes[name]
    return curve


def lifetimes(graph: Graph) -> Iterator[tuple[list[tuple[str, Number]], list[str]]]:
    """For each op what comes into memory with it, with its bytes, and what is gone after it."""
    written = compiled(graph)
    home, sizes = homes(graph), {} if written else graph.settings.get("parts", {})
    last: dict[str, int] = {}
    for i, op in enumerate(graph.ops):
        for t in (*(read_last(op) if written else op.inputs), *op.outputs):
            last[home.get(t.name, t.name)] = i
    for name, i in held(graph).items():
        last[name] = max(last.get(name, i), i)
    for name in graph.outputs:
        last[home.get(name, name)] = len(graph.ops)
    if written:
        reused(graph, home, last)
    frees: dict[int, list[str]] = {}
    more, early = beside(graph), begun(graph) if written else {}
    for i, op in enumerate(graph.ops):
        made: list[tuple[str, Number]] = []
        for t in early.get(i, op.outputs):
            if t.role == "activation" and t.name not in home:
                made.append((t.name, t.bytes * sizes.get(t.name, 1.0)))
                frees.setdefault(last[t.name], []).append(t.name)
        for number, (size, end) in enumerate(more.get(i, ())):
            made.append((f"{op.name}+{number}", size))
            frees.setdefault(end, []).append(made[-1][0])
        yield made, frees.pop(i, [])


def compiled(graph: Graph) -> bool:
    return any(op.kind == "fused" for op in graph.ops)


def held(graph: Graph) -> dict[str, int]:
    """Tensor -> the op until which Python holds it, of a captured model that runs as it stands."""
    names = {} if compiled(graph) else graph.settings.get("held", {})
    place = {op.name: i for i, op in enumerate(graph.ops)} if names else {}
    return {name: place[op] for name, op in names.items() if op in place}


def beside(graph: Graph) -> dict[int, list[tuple[float, int]]]:
    """Op -> what it leaves in memory beside its outputs, each with the op until which it is there; of a captured model that runs as it
    stands."""
    known = {} if compiled(graph) else graph.settings.get("beside", {})
    place = {op.name: i for i, op in enumerate(graph.ops)} if known else {}
    found: dict[int, list[tuple[float, int]]] = {}
    for size, by, end in known.values():
        if by in place:
            found.setdefault(place[by], []).append((float(size), max(place.get(end, place[by]), place[by])))
    return found


def homes(graph: Graph) -> dict[str, str]:
    """Tensors that lie in another's memory -> that tensor: what a view makes, or an op that writes in place. Capture has seen which."""
    if not compiled(graph) and "within" in graph.settings:
        return dict(graph.settings["within"])
    home: dict[str, str] = {}
    seen = graph.settings.get("within", {})
    for op in graph.ops:
        if op.inputs and (op.attrs.get("inplace") or category(op.kind) == "free"):
            home.update({t.name: home.get(op.inputs[0].name, op.inputs[0].name) for t in op.outputs[:1]})
        if op.attrs.get("inplace") and op.kind == "foreach":  # an optimiser writes whole lists, which no compiler takes apart
            home.update({t.name: seen[t.name] for t in op.outputs if t.name in seen})
    return home


def kv_cache(layers: Number, kv_heads: Number, head_dim: Number, batch: Number, context: Number, dtype: str = "fp16") -> Number:
    """2 · layers · kv_heads · d_head · bytes · batch · context: keys and values of every layer and token."""
    for name, size in (("layers", layers), ("kv_heads", kv_heads), ("head_dim", head_dim), ("batch", batch), ("context", context)):
        check_positive(name, size)
    return 2.0 * layers * kv_heads * head_dim * bytes_per_element(dtype) * batch * context


def largest_that_fits(total: Callable[[int], float], capacity: float, limit: int = 1 << 24) -> int:
    """The largest size n in 1 … limit with total(n) ≤ capacity, by bisection; 0 where not even 1 fits.

    `total` grows with n: bytes needed at a batch (or a context) of n.
    """
    if total(1) > capacity:
        return 0
    low, high = 1, 2
    while high <= limit and total(high) <= capacity:
        low, high = high, high * 2
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(middle) <= capacity else (low, middle)
    return low
