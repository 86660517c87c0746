"""What changed between two files that `predict --json` or `analyze --json` wrote: row by row, and operator by operator.

Only what can be compared is: the same model with the same inputs, on the same machines in the same modes, on the same grounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.report.operator_changes import Operator, operators_of

KINDS = ("ironlaw-predict/1", "ironlaw-analyze/1")
Document = Mapping[str, Any]
Key = tuple[str, str, int | None, str | None]  # machine, mode, batch, storage of weights
WALL, DEVICE = "wall", "device"  # which time is compared


@dataclass(frozen=True, slots=True)
class Limit:
    """What a comparison may not pass: the share that a time grows by, and the bytes that a call needs."""

    growth: float | None = None
    memory: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One machine, mode and batch: the time of a call (wall clock, or on the device alone), memory, and whether it fits."""

    key: Key
    old: float
    new: float
    old_bytes: float
    new_bytes: float
    unfit: bool  # it fitted, and no longer does
    operators: tuple[Operator, ...] = ()
    renamed: int = 0  # operators of another name that do the same work

    @property
    def change(self) -> float:
        return self.new / self.old - 1.0 if self.old else 0.0

    def over(self, limit: Limit) -> bool:
        return self.too_large(limit) or (limit.growth is not None and (self.change > limit.growth or self.unfit))

    def too_large(self, limit: Limit) -> bool:
        return limit.memory is not None and self.new_bytes > limit.memory


@dataclass(frozen=True)
class Changes:
    schema: str
    model: str
    rows: tuple[Row, ...]  # the largest change first
    notes: tuple[str, ...] = field(default=())

    def failed(self, limit: Limit) -> bool:
        return any(row.over(limit) for row in self.rows)


def changes(old: Document, new: Document, on: str = WALL) -> Changes:
    """Refuses what can't be compared, and says why. `on`: WALL, what a call takes; DEVICE, what its kernels take, the host left out."""
    for name, file in (("the old file", old), ("the new file", new)):
        if "error" in file:
            raise BadValue(f"{name} holds an error and no figures: {file['error']['message']}")
        if file.get("schema") not in KINDS:
            raise BadValue(f"{name} has the schema {file.get('schema')!r}; give what `predict --json` or `analyze --json` wrote")
    if old["schema"] != new["schema"]:
        raise BadValue(f"the old file has the schema {old['schema']}, the new one {new['schema']}; write both with one command and version")
    _same_model(old, new)
    before, after = _rows(old), _rows(new)
    _same_rows(before, after, new)
    name = {WALL: "seconds", DEVICE: "busy_s"}[on]
    rows = [_row(key, before[key], after[key], name) for key in before if name in before[key] and name in after[key]]
    notes = _notes(old, new)
    if len(rows) < len(before):
        notes.append("batches and weights side by side have no device time in the files; give each a file of its own")
    renamed = max(row.renamed for row in rows)
    if renamed:
        several = "operators have another name and do the same work; each is compared with its like"
        notes.append(
            f"{renamed} {several}" if renamed > 1 else "1 operator has another name and does the same work; it is compared with its like"
        )
    return Changes(old["schema"], name_of(old), tuple(sorted(rows, key=lambda row: -abs(row.change))), tuple(notes))


def name_of(file: Document) -> str:
    """The model: a workload of the registry, or the target without the folder that it lies in."""
    return str(file.get("workload") or file["target"].replace("\\", "/").rpartition("/")[2])


def _same_model(old: Document, new: Document) -> None:
    if name_of(old) != name_of(new):
        raise BadValue(f"two models: the old file is of {name_of(old)}, the new one of {name_of(new)}; give two files of the same model")
    for what in ("settings", "inputs", "training"):
        before, after = old.get(what), new.get(what)
        if isinstance(before, Mapping) and isinstance(after, Mapping):  # only what differs
            names = [name for name in {**before, **after} if before.get(name) != after.get(name) and name != "dtype"]  # a note says that
            before, after = ({name: each.get(name, "not set") for name in names} for each in (before, after))
        if before != after:
            verb = "differs" if what == "training" else "differ"
            raise BadValue(
                f"{what} {verb}: {_brief(before)} in the old file, {_brief(after)} in the new one; write both with the same {what}"
            )


def _brief(value: Any) -> str:
    """`batch 8, seq 128`, or `8x3x224x224 fp32`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(f"{'x'.join(map(str, one['shape']))} {one['dtype']}" for one in value) or "none"
    return str(value)


def _rows(file: Document) -> dict[Key, Mapping[str, Any]]:
    rows: dict[Key, Mapping[str, Any]] = {(p["hardware"], p["mode"], None, None): p for p in file["predictions"]}
    for p in file.get("language", {}).get("before", ()):
        rows[p["hardware"], f"{p['mode']}, prefill", None, None] = p
    first = file["variants"][0] if file["variants"] else {}
    for v in file["variants"]:
        if (v["batch"], v["weights"]) != (first["batch"], first["weights"]):  # the first is what the predictions are of
            rows[v["hardware"], v["mode"], v["batch"], v["weights"]] = v
    return rows


def _same_rows(before: Mapping[Key, Any], after: Mapping[Key, Any], new: Document) -> None:
    for there, here, where in ((before, after, "new"), (after, before, "old")):
        lost = [key for key in there if key not in here]
        if lost:
            why = next((one["reason"] for one in new["refused"] if where == "new" and one["hardware"] == lost[0][0]), "")
            reason = f" ({why})" if why else ""
            raise BadValue(
                f"the {where} file has nothing for {label(lost[0])}{reason}; write both with the same --on, --mode, --batch and --weights"
            )
    for key, one in before.items():
        other = after[key]
        if one.get("basis") != other.get("basis"):
            raise BadValue(
                f"{label(key)} is {one['basis']} in the old file and {other['basis']} in the new one: times that rest on"
                " different evidence can't be compared; write both with the same measurements available"
            )
        hosts = [{name: side.get("host", {}).get(name) for name in ("slug", "launch_s")} for side in (one, other)]
        if hosts[0] != hosts[1]:
            raise BadValue(f"{label(key)} has a different host in each file; write both with the same --host and --launch")


def label(key: Key) -> str:
    """`h200_sxm eager, batch 8, int4 weights`."""
    machine, mode, batch, weights = key
    return f"{machine} {mode}" + (f", batch {batch}" if batch else "") + (f", {weights} weights" if weights not in (None, "own") else "")


def _row(key: Key, old: Mapping[str, Any], new: Mapping[str, Any], time: str) -> Row:
    operators, renamed = operators_of(old, new)
    return Row(
        key, old[time], new[time], _bytes(old["memory"]), _bytes(new["memory"]), old["fits"] and not new["fits"], operators, renamed,
    )  # fmt: skip


def _bytes(memory: Any) -> float:
    """A prediction has parts, a variant only the total."""
    return float(memory["total"] if isinstance(memory, Mapping) else memory)


def _notes(old: Document, new: Document) -> list[str]:
    notes = []
    for what, name in (("ironlaw", "versions of ironlaw"), ("dtype", "number formats")):
        if old.get(what) != new.get(what):
            notes.append(f"two {name}: {old.get(what)} and {new.get(what)}")
    pairs = list(zip(old["predictions"], new["predictions"], strict=False))
    if any(a["sources"] != b["sources"] for a, b in pairs):
        notes.append("the figures behind the two come from different sources, so that not all of the change may be the model's")
    if any(_partial(p) for p in (*old["predictions"], *new["predictions"])):
        notes.append("not every operator is in both files; leave --ops out when they are written")
    return notes


def _partial(p: Mapping[str, Any]) -> bool:
    return float(sum(op["seconds"] for op in p.get("ops", ()))) < float(p["busy_s"]) * (1.0 - 1e-6)
