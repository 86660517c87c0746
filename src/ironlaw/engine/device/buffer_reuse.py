"""Which memory torch.compile uses again: a result lies where something of the same size lay that nobody reads any more.

As Inductor does it (`decide_inplace_update` in its scheduler, `AllocateLine` in its wrapper). A loop that goes through an operand element
by element writes over it. Any other result that Inductor makes room for takes the last buffer of its size and format that was let go. That
one is then kept for it, unless more would be in memory meanwhile than Inductor expects at most, and it expects no writing over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironlaw.engine.arrays import is_array
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import UNCOMPILED, category, in_pieces

LOOPS = ("elementwise", "rowwise", "reduction", "movement", "lookup")  # categories of what the compiler writes itself
THROUGH = ("elementwise",)  # and of a loop that reads each element where it writes one
PRODUCTS = ("linear", "matmul", "bmm")  # a library's, into memory that Inductor has made
Freed = dict[tuple[str, float], list[tuple[str, int]]]  # format and size -> buffers that were let go, with the op after which


def reused(graph: Graph, home: dict[str, str], last: dict[str, int]) -> None:
    """Says in `home` (tensor -> the one in whose memory it lies) and `last` (that one -> the last op that uses it) what is used again."""
    if any(is_array(t.size) for op in graph.ops for t in op.outputs):
        return
    sizes = {t.name: t for op in graph.ops for t in op.outputs if t.role == "activation" and t.name not in home}
    expected = _expected(graph, sizes, last)
    most, freed = max(expected), Freed()
    ends, within = _ends(sizes, last), dict[str, list[str]]()  # tensor -> those that lie in it
    for name, other in home.items():
        within.setdefault(other, []).append(name)
    for i, op in enumerate(graph.ops):
        for t in op.outputs:
            if t.name not in sizes or not allocated(op):
                continue
            place = _written_over(op, i, t, sizes, home, last) if goes_through(op) else None
            if place is None:
                place = _taken_again(t, i, freed, expected, most)
            if place is None:
                continue
            ends[last[t.name]].remove(t.name)
            if place in ends.get(i, ()):
                ends[i].remove(place)
            ends.setdefault(last[t.name], []).append(place)
            last[place] = last[t.name]
            moved = [t.name, *within.pop(t.name, ())]
            home.update(dict.fromkeys(moved, place))
            within.setdefault(place, []).extend(moved)
        for name in ends.get(i, ()):
            freed.setdefault(_key(sizes[name]), []).append((name, i))


def _ends(sizes: Mapping[str, Tensor], last: Mapping[str, int]) -> dict[int, list[str]]:
    """Op -> what is let go after it."""
    ends: dict[int, list[str]] = {}
    for name in sizes:
        ends.setdefault(last[name], []).append(name)
    return ends


def _expected(graph: Graph, sizes: Mapping[str, Tensor], last: Mapping[str, int]) -> list[float]:
    """Bytes that each op finds and makes, if no memory is used again."""
    ends, live, found = _ends(sizes, last), 0.0, []
    for i, op in enumerate(graph.ops):
        live += sum(float(t.bytes) for t in op.outputs if t.name in sizes)
        found.append(live)
        live -= sum(float(sizes[name].bytes) for name in ends.get(i, ()))
    return found


def _written_over(op: Op, i: int, t: Tensor, sizes: Mapping[str, Tensor], home: Mapping[str, str], last: Mapping[str, int]) -> str | None:
    places = (home.get(x.name, x.name) for x in op.inputs)
    return next((name for name in places if name in sizes and last[name] == i and _key(sizes[name]) == _key(t)), None)


def _taken_again(t: Tensor, i: int, freed: Freed, expected: list[float], most: float) -> str | None:
    alike = freed.get(_key(t), [])
    if not alike:
        return None
    name, since = alike[-1]
    between, size = range(since + 1, i), float(t.bytes)
    if between and size + max(expected[j] for j in between) > most:
        return None
    for j in between:
        expected[j] += size
    alike.pop()
    return name


def _key(t: Tensor) -> tuple[str, float]:
    return t.dtype, float(t.bytes)


def read_last(op: Op) -> list[Tensor]:
    """Inputs that are in memory until the op runs: not what a concatenation of many puts together, each as soon as it is made."""
    pieces = {t.name for one in parts(op) if in_pieces(one) for t in one.inputs}
    others = {t.name for one in parts(op) if not in_pieces(one) for t in one.inputs}
    return [t for t in op.inputs if t.name not in pieces or t.name in others]


def begun(graph: Graph) -> dict[int, list[Tensor]]:
    """Op -> the tensors whose memory is taken with it, where that differs from its outputs: such a concatenation's with its first piece."""
    maker = {t.name: i for i, op in enumerate(graph.ops) for t in op.outputs}
    found: dict[int, list[Tensor]] = {}
    for i, op in enumerate(graph.ops):
        pieces = [maker[t.name] for one in parts(op) if in_pieces(one) for t in one.inputs if t.name in maker]
        whole = {t.name for one in parts(op) if in_pieces(one) for t in one.outputs}
        early = [t for t in op.outputs if t.name in whole]
        if pieces and early and min(pieces) < i:
            first = min(pieces)
            found[i] = [t for t in found.get(i, op.outputs) if t not in early]
            found[first] = [*found.get(first, graph.ops[first].outputs), *early]
    return found


def parts(op: Op) -> Iterator[Op]:
    yield from op.attrs.get("parts", (op,))


def allocated(op: Op) -> bool:
    """Whether Inductor makes the room for what the op writes."""
    return all(UNCOMPILED not in one.attrs and (category(one.kind) in LOOPS or one.kind in PRODUCTS) for one in parts(op))


def goes_through(op: Op) -> bool:
    return all(category(one.kind) in THROUGH for one in parts(op))
