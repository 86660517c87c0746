"""A layout as a grid of devices: a row for each stage, a cell for each device, and whom one of them talks to."""

from __future__ import annotations

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.ranks import kinship, place
from ironlaw.pictures.gantt import name, picked
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import Hold

COLUMNS = 32  # cells of a row that a phone has room for
COLOURS = {"self": "accent", "tensor": "compute", "context": "good", "data": "memory", "pipeline": "overhead", "": "muted"}
WORDS = {
    "self": "the device", "tensor": "its tensor group", "context": "its context group", "data": "its replicas",
    "pipeline": "stages before and after", "": "others",
}  # fmt: skip


def devices(
    layout: Layout, per_box: int, rank: int = 0, *, title: str = "The layout", note: str = "", id: str = "devices",
    tensor_drag: Hold | None = None,
) -> Figure:  # fmt: skip
    """`rank`: whose groups are coloured; `per_box`: devices of a box, which are drawn side by side. `tensor_drag`: the dial of the tensor
    group's size, which the edge of the first group then stands for."""
    wide = layout.tensor * layout.context * layout.data
    first = rank % wide // COLUMNS * COLUMNS
    columns = range(first, min(wide, first + COLUMNS))
    rows = _rows(layout.pipeline, place(layout, rank).stage)
    kin = {(stage, column): kinship(layout, rank, stage * wide + column) for stage in rows for column in columns}
    marks = [_cell(layout, per_box, stage * wide + column, column - first, stage, kind) for (stage, column), kind in kin.items()]
    marks += [
        mark("rule", "ridge", x=column - first, dash=True, id=f"box-{column}")
        for column in columns
        if column > first and column % per_box == 0
    ]
    if tensor_drag and first == 0 and layout.tensor <= len(columns):
        marks.append(
            mark("rule", "compute", x=float(layout.tensor), id="tensor", name="where the first tensor group ends", drag=tensor_drag)
        )
    used = [kind for kind in COLOURS if kind in kin.values()]
    beyond = wide - len(columns)
    more = f"{wide:,} devices per stage, {len(columns)} of them drawn" if beyond else f"{wide:,} devices per stage"
    return Figure(
        id, title, Axis("linear", "devices of a stage, in order", "", (0.0, float(len(columns)))),
        Axis("band", names=tuple(name(stage) for stage in rows)), tuple(marks), _words(layout, per_box, rank),
        _table(layout, per_box, rank),
        f"{more}; dashed: where a box ends" + (f"; {note}" if note else ""),
        tuple({"colour": COLOURS[kind], "label": WORDS[kind]} for kind in used), {"stacked": True},
    )  # fmt: skip


def _rows(stages: int, stage: int) -> list[int]:
    """Stages that are drawn: the chosen one's neighbours are always among them."""
    rows = picked(stages)
    return rows if len(rows) == stages else sorted({*rows, *(s for s in (stage - 1, stage, stage + 1) if 0 <= s < stages)})


def _cell(layout: Layout, per_box: int, rank: int, column: int, stage: int, kind: str) -> Mark:
    at = place(layout, rank)
    hover = [("device", f"{rank:,}"), ("box", f"{rank // per_box + 1:,}"), ("stage", str(at.stage + 1)), ("replica", str(at.data + 1))]
    return mark(
        "bar", COLOURS[kind], x0=column + 0.06, x1=column + 0.94, y=name(stage), id=f"cell-{stage}-{column}", pattern=kind == "self",
        hover=[*hover, WORDS[kind]] if kind else (),
    )  # fmt: skip


def _groups(layout: Layout, per_box: int, rank: int) -> list[tuple[str, int, int]]:
    """(group, members, boxes that they are in) of one device."""
    sizes = (
        ("tensor", layout.tensor, 1),
        ("context", layout.context, layout.tensor),
        ("data", layout.data, layout.tensor * layout.context),
    )
    found = []
    for kind, size, stride in sizes:
        start = rank - rank // stride % size * stride
        found.append((kind, size, len({(start + i * stride) // per_box for i in range(size)})))
    wide = layout.tensor * layout.context * layout.data
    found.append(("pipeline", layout.pipeline, len({(rank % wide + i * wide) // per_box for i in range(layout.pipeline)})))
    return found


def _words(layout: Layout, per_box: int, rank: int) -> str:
    parts = [
        f"{kind} group of {size:,} in {boxes:,} box{'es' if boxes > 1 else ''}"
        for kind, size, boxes in _groups(layout, per_box, rank)
        if size > 1
    ]
    at = place(layout, rank)
    where = f"Device {rank:,}, stage {at.stage + 1}, replica {at.data + 1}"
    return f"{layout}, {layout.devices:,} devices. {where}: {'; '.join(parts) or 'alone'}."


def _table(layout: Layout, per_box: int, rank: int) -> Table:
    return Table(
        ("group", "devices", "in boxes"),
        tuple((kind, f"{size:,}", f"{boxes:,}") for kind, size, boxes in _groups(layout, per_box, rank)),
    )
