"""The button that commits a design: the dials of one instrument as they stand, written by that act alone.

The newest one counts; earlier ones stay in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.prose import html
from ironlaw.ledger import Event, Ledger
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

Dials = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What is said of a committed design; `text` is Markdown."""

    met: bool
    text: str


def decide(name: str, ledger: Ledger, lab: str, dials: Callable[[], Dials], judge: Callable[[Dials], Verdict],
           on_commit: Callable[[], None]) -> Piece:  # fmt: skip
    """`dials()`: where they stand now. `judge` is asked once a design is committed, and about that one."""
    acts = ActCounter()

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if acts.advanced(state):
            values = dict(dials())
            if not values:
                raise BadValue("The instrument above is not open yet; commit your choice first.")
            ledger.append(lab, "decision", {"question": name, "dials": values, "met": judge(values).met})
            on_commit()
        event = decision(ledger, lab, name)
        if event is None:
            return {"committed": None}
        try:
            verdict = judge(event.payload["dials"])
        except Exception:  # whatever a lab makes of dials that are not its own: an import, another version
            return {"committed": None}
        return {"committed": {"time": event.time}, "right": verdict.met, "feedback": html(verdict.text)}

    return Piece("decide", {"id": f"{name}.decide"}, compute)


def decision(ledger: Any, lab: str, name: str) -> Event | None:
    """The newest committed design."""
    events: list[Event] = [event for event in ledger.events(lab, "decision") if event.question == name]
    return events[-1] if events else None
