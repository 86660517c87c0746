"""Two predictions compared, before and after a change of a model: what `ironlaw diff` and `il.diff` answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadValue, kind_of
from ironlaw.report.report_changes import DEVICE, WALL, Changes, Limit, Row, changes, label
from ironlaw.systems.fields import among, custom, figure, share
from ironlaw.systems.question import Question, Table
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.analysis_output import DiffJson, DiffRow

AGAIN = "give a file that `predict --json` or `analyze --json` wrote, or what il.predictions or il.analyze gave"


def read(given: Any) -> Mapping[str, Any]:
    """A prediction as JSON: one that was made, one that was written down, or the file that holds it."""
    if hasattr(given, "to_json"):
        given = given.to_json()
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, (str, Path)):
        raise BadValue(f"diff compares answers for one or more machines, and this is {kind_of(given)}; {AGAIN}")
    try:
        content = json.loads(Path(given).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise BadValue(f"{given} can't be read ({error.strerror or error}); {AGAIN}") from None
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{given} is not JSON ({error}); {AGAIN}") from None
    if not isinstance(content, dict):
        raise BadValue(f"{given} is JSON, but not an object; {AGAIN}")
    return {**content, "file": str(given)}


@dataclass(frozen=True, repr=False)
class Diff(Question):
    """What changed from `old` to `new`, by machine, mode and operator.

    >>> import ironlaw as il
    >>> before, after = (il.predictions("resnet50", on="t4", batch=8, dtype=dtype) for dtype in ("fp16", "fp32"))
    >>> d = il.diff(before, after, fail_over="5%")
    >>> d.failed, round(d.rows[0].change, 1) > 0.5
    (True, True)
    """

    schema = "ironlaw-diff/1"
    old: Mapping[str, Any] = custom(
        read, flag="OLD", metavar="OLD", about="output of `predict --json` or `analyze --json` from before the change"
    )
    new: Mapping[str, Any] = custom(read, flag="NEW", metavar="NEW", about="the same from after the change")
    fail_over: float | None = share(
        None, below=True, metavar="SHARE", about="exit with 1 if a time grows by more than this (5% or 0.05), or a model no longer fits"
    )
    on: str = among(
        (WALL, DEVICE), WALL,
        about="which time is compared: a whole call's (default), or its kernels' alone, where a slow host would hide a change",
    )  # fmt: skip
    max_memory: float | None = figure(None, unit="B", metavar="SIZE", about="exit with 1 if a call needs more, such as 24GB")

    @property
    def limit(self) -> Limit:
        return Limit(self.fail_over, self.max_memory)

    @cached_property
    def changes(self) -> Changes:
        try:
            return changes(self.old, self.new, self.on)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            files = " or ".join(map(_name, (self.old, self.new)))
            raise BadValue(f"{files} lacks {error} that ironlaw writes; {AGAIN}") from None

    @property
    def rows(self) -> tuple[Row, ...]:
        """By machine, mode and batch, the largest change first."""
        return self.changes.rows

    @property
    def failed(self) -> bool:
        """Whether a limit is passed."""
        return self.changes.failed(self.limit)

    @cached_property
    def answer(self) -> DiffJson:
        found = self.changes
        return {
            "compares": found.schema, "model": found.model, "old": _name(self.old), "new": _name(self.new), "on": self.on,
            "fail_over": self.fail_over, "max_memory_bytes": self.max_memory, "failed": self.failed,
            "rows": [_row(row, self.limit) for row in found.rows], "notes": list(found.notes),
        }  # fmt: skip

    def table(self) -> Table:
        rows = [
            (label(row.key), show(row.old, "s"), show(row.new, "s"), f"{row.change:+.1%}".replace("-", "−"), show(row.new_bytes, "B"))
            for row in self.rows
        ]
        return Table(self.changes.model, ("machine and mode", "before", "after", "change", "memory"), rows)


def _name(document: Mapping[str, Any]) -> str:
    """The file, or what stands for one that was never written."""
    return str(document.get("file") or "a prediction")


def _row(row: Row, limit: Limit) -> DiffRow:
    hardware, mode, batch, weights = row.key
    return {
        "hardware": hardware, "mode": mode, "batch": batch, "weights": weights,
        "old_s": row.old, "new_s": row.new, "change": row.change, "old_bytes": row.old_bytes, "new_bytes": row.new_bytes,
        "unfit": row.unfit, "over": row.over(limit),
        "operators": [
            {"name": op.name, "kind": op.kind, "count": op.count, "old_s": op.old, "new_s": op.new, "change_s": op.change}
            for op in row.operators
        ],
    }  # fmt: skip
