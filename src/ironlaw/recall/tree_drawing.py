"""The fusion tree as rows to draw: down along the "no" exits, and to the right where the answer is yes.

The first questions of the tree (is one of the two a view, a black box, …) are answered by the ops themselves: they are one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ironlaw.recall.walk import SIBLINGS, TREE, Branch

# what a branch is called in the drawing, where its question is too long
SHORT = {
    "fused": "Fused already, a view, a black box, or a library's kernel first?",
    "epilogue": "Matmul or convolution, then element-wise?",
    "tile": "Shape kept?",
    "many": "Second reads each element many times?",
    "order": "Second reads out of order?",
    "heavy": "Matmul or convolution first?",
    "moves": "Second only moves data?",
    "waits": "First reduces the whole tensor?",
    "parts": "Second reduces the whole tensor?",
    "feeds": "First element-wise?",
    "pointwise": "Both element-wise, one size?",
    "elementwise": "Both element-wise?",
    "shape": "Results of one size?",
}
HOUSEKEEPING = ("fused", "free", "opaque", "library")
LEAVES = {
    "epilogue": "epilogue", "pointwise": "pointwise", "vertical": "vertical", "horizontal": "horizontal", "barrier": "a barrier",
    "none": "not fused",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A branch; `yes` is another row or a pattern, and so is `no` where nothing is drawn below it."""

    ids: tuple[str, ...]  # more than one where several questions share a row
    label: str
    yes: Row | str
    no: Row | str = ""  # empty: the row below


def rows(shared: bool = False) -> list[Row]:
    """The tree for a producer and its consumer, or the one for two ops that share an input."""
    tree, at = (SIBLINGS, "elementwise") if shared else (TREE, "fused")
    drawn: list[Row] = []
    while not at.startswith("="):
        branch = tree[at]
        if at in HOUSEKEEPING:
            if at == HOUSEKEEPING[0]:
                drawn.append(Row(HOUSEKEEPING, SHORT[at], branch.yes.removeprefix("= ")))
        else:
            drawn.append(_row(tree, branch))
        at = branch.no
    last = drawn[-1]
    drawn[-1] = Row(last.ids, last.label, last.yes, at.removeprefix("= "))
    return drawn


def _row(tree: Mapping[str, Branch], branch: Branch) -> Row:
    if branch.yes.startswith("="):
        return Row((branch.id,), SHORT[branch.id], branch.yes.removeprefix("= "))
    aside = tree[branch.yes]
    return Row((branch.id,), SHORT[branch.id], Row((aside.id,), SHORT[aside.id], aside.yes.removeprefix("= "), aside.no.removeprefix("= ")))


def plain(row: Row | str) -> object:
    """A row for the browser."""
    if isinstance(row, str):
        return LEAVES[row] if row else None
    return {"ids": list(row.ids), "label": row.label, "yes": plain(row.yes), "no": plain(row.no)}
