"""A tile that goes through a matrix product C = A·B, and the operations per byte as they add up.

What has been read stays on the chip: a tile of C needs its rows of A and its columns of B, and reads only those that no tile before it has
read. At the end each matrix has moved once, as the roofline counts it. A tile takes the longer of its bytes and its arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ironlaw.units import significant
from ironlaw.widget.motion import Counter, Motion, Place, Thing, Token, Words
from ironlaw.widget.quantities import format_quantity

GRID = 8  # tiles along a side, where the matrix has as many rows
TOP, TALL = 26.0, 116.0  # px
A, B, C = (0.0, 0.27), (0.365, 0.635), (0.73, 1.0)  # shares of the width
HARDLY = 1.05
MOVES = 0.15  # of a tile's time: on its way to the next


@dataclass(frozen=True)
class Product:
    """M × K times K × N, with bytes per element, on a machine with a rate of operations and bytes per second."""

    m: int
    n: int
    k: int
    element: float
    peak: float
    bandwidth: float
    unit: str  # of the intensity

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tiles."""
        return min(GRID, self.m), min(GRID, self.n)

    @property
    def ridge(self) -> float:
        return self.peak / self.bandwidth


@dataclass(frozen=True)
class Tile:
    row: int
    column: int
    moved: float  # bytes: what it reads first, and its part of C
    flops: float
    seconds: float


def tiles(product: Product) -> list[Tile]:
    """Row by row."""
    rows, columns = product.grid
    found = []
    for row in range(rows):
        for column in range(columns):
            high, wide = product.m / rows, product.n / columns
            read = (high if column == 0 else 0.0) + (wide if row == 0 else 0.0)
            moved = (read * product.k + high * wide) * product.element
            flops = 2 * high * wide * product.k
            found.append(Tile(row, column, moved, flops, max(moved / product.bandwidth, flops / product.peak)))
    return found


def through(product: Product, id: str = "tiles") -> Motion:
    found = tiles(product)
    ends = list(accumulate(tile.seconds for tile in found))
    end = ends[-1]
    moved, done = (list(accumulate(values)) for values in ((t.moved for t in found), (t.flops for t in found)))
    counted = [flops / size for flops, size in zip(done, moved, strict=True)]
    first, last, ridge = (f"{significant(value)}" for value in (counted[0], counted[-1], product.ridge))
    beyond = "past" if counted[-1] >= product.ridge else "short of"
    title = f"Reuse lifts the intensity from {first} to {last}\u202f{product.unit}, {beyond} the ridge of {ridge}"
    if counted[-1] < HARDLY * counted[0]:
        title = f"There is hardly anything to reuse: {last}\u202f{product.unit}, against a ridge of {ridge}"
    return Motion(
        id, title, end, TOP + TALL + 8, tuple(_things(product, found, ends, counted, moved)),
        tuple(_events(product, found, ends, counted)),
        f"{len(found)} tiles of C; when all are done, {last} {product.unit} have been done.", film=False, begins=ends[len(ends) // 3],
        stills=_stills(ends, product.grid[1]), seconds=10.0,
        note=f"{product.m:,}\u00a0×\u00a0{product.k:,} times {product.k:,}\u00a0×\u00a0{product.n:,}",
    )  # fmt: skip


def _things(
    product: Product, found: Sequence[Tile], ends: Sequence[float], counted: Sequence[float], moved: Sequence[float]
) -> Iterator[Thing]:
    rows, columns = product.grid
    end, begins = ends[-1], [0.0, *ends[:-1]]
    high, wide, across = TALL / rows, (C[1] - C[0]) / columns, (B[1] - B[0]) / columns
    for name, (left, right) in (("A", A), ("B", B), ("C", C)):
        yield Words(left, TOP - 8, name, "compute" if name == "C" else "memory", strong=True)
        yield Place(left, right, TOP, TALL)
    yield Words((A[1] + B[0]) / 2, TOP + TALL / 2 + 5, "×", anchor="middle")
    yield Words((B[1] + C[0]) / 2, TOP + TALL / 2 + 5, "=", anchor="middle")
    for tile, start, stop in zip(found, begins, ends, strict=True):
        if tile.column == 0:
            yield Place(*A, TOP + tile.row * high + 1, high - 2, "", "memory", ((start, end),), plain=True)
        if tile.row == 0:
            yield Place(B[0] + tile.column * across + 0.002, B[0] + (tile.column + 1) * across - 0.002, TOP + 1, TALL - 2, "", "memory",
                        ((start, end),), plain=True)  # fmt: skip
        left, top = C[0] + tile.column * wide, TOP + tile.row * high
        yield Place(left + 0.002, left + wide - 0.002, top + 1, high - 2, "", "compute", ((stop, end),), plain=True)
    spots = [(C[0] + (tile.column + 0.5) * wide, TOP + (tile.row + 0.5) * high) for tile in found]
    used = [((A[0] + A[1]) / 2, TOP + (tile.row + 0.5) * high) for tile in found]
    taken = [(B[0] + (tile.column + 0.5) * across, TOP + TALL / 2) for tile in found]
    for places in (spots, used, taken):
        yield Token(_path(places, begins, ends), "accent", "square", 6)
    yield Counter("moved", ((0.0, 0.0), *zip(ends, moved, strict=True)), "B", colour="memory")
    yield Counter("intensity so far", ((0.0, counted[0]), *zip(ends, counted, strict=True)), product.unit, colour="accent")
    yield Counter("ridge", ((0.0, product.ridge),), product.unit)


def _stills(ends: Sequence[float], columns: int) -> tuple[float, ...]:
    """The first tile, the first row, half of all, all."""
    return tuple(sorted({ends[0], ends[columns - 1], ends[len(ends) // 2 - 1], ends[-1]}))


def _path(places: Sequence[tuple[float, float]], begins: Sequence[float], ends: Sequence[float]) -> tuple[tuple[float, float, float], ...]:
    """The path, at each place from the beginning of its tile until shortly before the next."""
    points = []
    for (x, y), start, stop in zip(places, begins, ends, strict=True):
        points += [(start, x, y), (stop - MOVES * (stop - start), x, y)]
    return (*points, (ends[-1], *places[-1]))


def _events(product: Product, found: Sequence[Tile], ends: Sequence[float], counted: Sequence[float]) -> Iterator[tuple[float, str]]:
    rows, columns = product.grid
    so_far = [f"{significant(value)}\u202f{product.unit} so far" for value in counted]
    yield 0.0, f"The first tile of C reads its rows of A and its columns of B, {format_quantity(found[0].moved, 'B')} with its result."
    if columns > 1:
        yield ends[0], f"The next tile needs the same rows of A, which are here. It reads only its columns of B. {so_far[0]}."
    for row in range(1, rows):
        at = row * columns
        seen = "B is here as a whole. The tiles of this row read only its rows of A" if row == 1 else f"Row {row + 1} of tiles begins"
        yield ends[at - 1], f"{seen}. {so_far[at - 1]}."
    yield ends[-1], f"Every matrix has moved once. {so_far[-1]}, against a ridge of {significant(product.ridge)}."
