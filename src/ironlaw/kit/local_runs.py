"""What the learner measured on this machine, read from the ledger: the newest run of each experiment, and its rows by their fields."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.cards import MINUS
from ironlaw.kit.measured_run import Measured
from ironlaw.ledger import Event
from ironlaw.ledger.event_kinds import ROW
from ironlaw.measure.software_host import cores, cpu_name, in_browser
from ironlaw.widget.quantities import format_quantity


def read_event(event: Event) -> Measured:
    payload = event.payload
    return Measured(
        str(payload["experiment"]), str(payload.get("library", "")), tuple(row for row in payload["rows"] if row["kind"] in ROW.kinds),
        payload["machine"], payload["software"], payload["noise"], event.time,
    )  # fmt: skip


def newest(ledger: Any) -> dict[str, Measured]:
    """Experiment -> its newest run on this machine, from any lab; in a browser, on the learner's own, wherever that is. One that lacks
    what its experiment measures is passed over."""
    runs: dict[str, Measured] = {}
    for event in ledger.events(kind="measured"):
        run = read_event(event)
        here = in_browser() or {key: run.machine.get(key) for key in ("cpu", "cores", "architecture")} == same()
        if here and _complete(run):
            runs[run.experiment] = run
    return runs


def _complete(run: Measured) -> bool:
    from ironlaw.kit.complete_runs import complete  # brings every experiment

    return complete(run)


def same() -> dict[str, object]:
    """What identifies this machine: a ledger may come from another."""
    return {"cpu": cpu_name(), "cores": cores(), "architecture": platform.machine()}


def cost(run: Measured, op: str = "add") -> Mapping[str, Any]:
    """The row of one tiny op: `wall_s` queued, `sync_s` waited for."""
    row = run.row(kind="launch", op=op)
    if row is None:
        raise BadValue(f"the measurement of {run.experiment} has no {op!r}; measure it again")
    return row


def span(row: Mapping[str, Any], name: str = "wall_s") -> str:
    """`0.72 µs to 0.81 µs`: from the tenth percentile to the ninetieth; empty where the value is exact."""
    if name == "value":
        low, high = (format_quantity(float(row[end]), str(row["unit"])).replace("-", MINUS) for end in ("low", "high"))
    else:
        start = "" if name == "wall_s" else name.removesuffix("s")
        low, high = (format_quantity(float(row[f"{start}{end}_s"]), "s") for end in ("low", "high"))
    return "" if is_exact(row) else high if low == high else f"{low} to {high}"


def is_exact(row: Mapping[str, Any]) -> bool:
    """Whether it was counted, and not timed or sampled."""
    return row.get("kind") == "figure" and row["low"] == row["high"] == row["value"]
