"""How far off predictions are, as a file under version control: a change of accuracy is seen in review as a difference.

    ironlaw validate --history        compare docs/accuracy.json with the evidence and the engine as they are now, then write it

Per machine of the registry and kind of row: how many, mean |error|, worst error, bias. Errors are shares, rounded to a thousandth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ironlaw.calibration import local_machine
from ironlaw.errors import BadValue
from ironlaw.files import regular, replace_text

if TYPE_CHECKING:
    from ironlaw.compare import Comparison
    from ironlaw.systems.accuracy.measured_gains import GainSummary

PLACE = "docs/accuracy.json"
ABOUT = "Written by `ironlaw validate --history`: errors of the predictions against the evidence, as shares. Do not edit."
LARGEST = 1e9  # an error a billion times the measurement is none
FIGURES = ("mean", "worst", "bias")
Accuracy = Mapping[str, Mapping[str, Mapping[str, float]]]
NONE: Mapping[tuple[str, str], Sequence[GainSummary]] = MappingProxyType({})


def accuracy(
    rows: Iterable[Comparison], gains: Mapping[tuple[str, str], Sequence[GainSummary]] = NONE
) -> dict[str, dict[str, dict[str, float]]]:
    """machine -> kind (models by mode, gains by change) -> count and errors. This machine is the reader's own, and not part of it."""
    from ironlaw.compare import summary

    groups: dict[str, dict[str, list[Comparison]]] = {}
    for row in rows:
        kind = f"model {row.mode}" if row.kind == "model" else row.kind
        if row.machine != local_machine.SLUG:
            groups.setdefault(row.machine, {}).setdefault(kind, []).append(row)
    found = {machine: {kind: _figures(summary(kind, group)) for kind, group in kinds.items()} for machine, kinds in groups.items()}
    for (machine, timed), lines in gains.items():
        if machine != local_machine.SLUG:
            found.setdefault(machine, {}).update({f"gain {line.change}, {timed}": _figures(line) for line in lines})
    return found


def _figures(line: Any) -> dict[str, float]:
    return {"count": line.count, **{name: round(getattr(line, name), 3) for name in FIGURES}}


def read(path: Path) -> Accuracy:
    """What is stored; empty if there is no file yet."""
    if path.is_dir():
        raise BadValue(f"{path} is a folder; give a file in it, such as --history {path / Path(PLACE).name}")
    regular(path, "the history")
    if not path.exists():
        return {}
    try:
        machines = json.loads(path.read_text(encoding="utf-8"))["machines"]
        return {machine: {kind: _numbers(line) for kind, line in kinds.items()} for machine, kinds in machines.items()}
    except (ValueError, RecursionError) as error:
        why = f"not JSON: {error}"
    except (KeyError, TypeError, AttributeError):
        why = "its figures are not where they should be"
    raise BadValue(f"{path} is not a history of accuracy ({why}); restore it if it was one, or give another FILE, then run this again")


def _numbers(line: Mapping[str, float]) -> dict[str, float]:
    if not all(isinstance(value, int | float) and abs(value) < LARGEST for value in line.values()):
        raise TypeError(line)
    return dict(line)


def text(now: Accuracy) -> str:
    return json.dumps({"about": ABOUT, "machines": now}, indent=1, sort_keys=True) + "\n"


def keep(path: Path, now: Accuracy) -> None:
    if not path.parent.is_dir():
        raise BadValue(f"there is no folder {path.parent} for the history; run this in a checkout of ironlaw, or give --history FILE")
    replace_text(path, text(now))


def changes(before: Accuracy, now: Accuracy, tolerance: float = 0.0) -> list[str]:
    """One line for each kind that is new, gone or differs by more than the tolerance."""
    lines = []
    for machine in sorted({*before, *now}):
        old, new = before.get(machine, {}), now.get(machine, {})
        for kind in sorted({*old, *new}):
            if kind not in new:
                lines.append(f"{machine} {kind}: gone ({_described(old[kind])})")
            elif kind not in old:
                lines.append(f"{machine} {kind}: new ({_described(new[kind])})")
            elif _differ(old[kind], new[kind], tolerance):
                lines.append(f"{machine} {kind}: {_described(old[kind])} → {_described(new[kind])}")
    return lines


def _differ(a: Mapping[str, float], b: Mapping[str, float], tolerance: float) -> bool:
    if a.get("count") != b.get("count"):
        return True
    return any(abs(a.get(name, float("inf")) - b[name]) > tolerance + 1e-9 for name in FIGURES)


def _described(line: Mapping[str, float]) -> str:
    mean, worst, bias = (line.get(name, 0.0) for name in FIGURES)
    return f"{line.get('count', 0):.0f} rows, mean {mean:.1%}, worst {worst:+.0%}, bias {bias:+.1%}"
