"""Memory of devices that share everything alike: a column each, in it what it holds. What is reserved and not used is hatched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity, share

MOST = 60  # pieces that stay apart on a screen; more are drawn several in one


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes in use, and bytes that nobody else can use meanwhile. `place` numbers one of many; -1: it is none of them."""

    name: str
    used: float
    waste: float = 0.0
    place: int = -1
    colour: str = "muted"
    hover: tuple[Row, ...] = ()
    count: int = 1

    @property
    def size(self) -> float:
        return self.used + self.waste


def blocks(
    pieces: Sequence[Piece], total: float, title: str, *, devices: int = 8, of: str = "request", free: str = "free", note: str = "",
    id: str = "blocks", legend: tuple[tuple[str, str, bool], ...] = (),
) -> Figure:  # fmt: skip
    """`total` bytes over so many devices, each of which holds its part of every piece; `of`: what one of the many pieces is;
    `legend`: (colour, words, hatched) beside those of the many."""
    if total <= 0 or sum(piece.size for piece in pieces) > total * (1 + 1e-9):
        raise BadValue(f"{title}: {sum(p.size for p in pieces):.4g} B do not fit {total:.4g} B; give what fits")
    together = merged(pieces, of)
    names = tuple(str(i) for i in range(devices))
    marks: list[Mark] = []
    at = 0.0
    for piece in together:
        colour = "memory" if piece.place >= 0 else piece.colour
        hover: list[Row] = [
            ("on all devices", exact(piece.size, "B")),
            *((("of it unused", exact(piece.waste, "B")),) if piece.waste else ()),
            *piece.hover,
        ]
        for size, hatched in ((piece.used, False), (piece.waste, True)):
            marks += _on_each(piece, at, size, names, colour, hatched, hover)
            at += size
    left = total - at
    if left > 1e-9 * total:
        marks += _on_each(Piece(free, left), at, left, names, "muted", True, [(free, exact(left, "B"))])
    used, waste = (sum(getattr(p, part) for p in pieces if p.place >= 0) for part in ("used", "waste"))
    held = f"{format_quantity(used + waste, 'B')}, {format_quantity(waste, 'B')} unused"
    many = sum(p.count for p in pieces if p.place >= 0)
    text = (
        "; ".join(f"{p.name} {format_quantity(p.size, 'B')}" for p in pieces if p.place < 0)
        + f"; {many:,} {of}{' holds' if many == 1 else 's hold'} {held};"
        f" {free} {format_quantity(left, 'B')} of {format_quantity(total, 'B')}."
    ).removeprefix("; ")
    rows = tuple((p.name, format_quantity(p.used, "B"), format_quantity(p.waste, "B"), share(p.size, total)) for p in together)
    rows += ((free, format_quantity(left, "B"), "–", share(left, total)),)
    shown = [{"colour": colour, "label": words, "pattern": hatched} for colour, words, hatched in legend]
    shown += [{"colour": "memory", "label": f"{of}s, one stripe each"}] if many else []
    shown += [{"colour": "memory", "pattern": True, "label": "reserved and not used"}] if waste > 1e-3 * total else []
    shown += [{"colour": "muted", "pattern": True, "label": free}] if left > 1e-9 * total else []
    return Figure(
        id, title, Axis("band", "GPU", names=names), Axis("linear", "memory per GPU", "B", (0.0, total / devices)), tuple(marks), text,
        Table(("what", "in use", "unused", "of all"), rows), note, tuple(shown), {"stacked": True, "height": 360},
    )  # fmt: skip


def merged(pieces: Sequence[Piece], of: str = "request") -> list[Piece]:
    """The blocks as they are, or with neighbours put together if there are too many to see."""
    many = [p for p in pieces if p.place >= 0]
    if len(many) <= MOST:
        return list(pieces)
    each = -(-len(many) // MOST)
    groups = [many[i : i + each] for i in range(0, len(many), each)]
    return [p for p in pieces if p.place < 0] + [
        Piece(f"{sum(p.count for p in group)} {of}s", sum(p.used for p in group), sum(p.waste for p in group), i,
              count=sum(p.count for p in group))
        for i, group in enumerate(groups)
    ]  # fmt: skip


def _on_each(piece: Piece, at: float, size: float, names: Sequence[str], colour: str, hatched: bool, hover: Sequence[Row]) -> list[Mark]:
    """A device's part of the piece, on every device."""
    y0, y1 = at / len(names), (at + size) / len(names)
    return [
        mark("bar", colour, y0=y0, y1=y1, x=name, id=f"{piece.name}-{name}-{'w' if hatched else 'u'}", name=piece.name, pattern=hatched,
             hover=hover)
        for name in names
        if y1 > y0
    ]  # fmt: skip
