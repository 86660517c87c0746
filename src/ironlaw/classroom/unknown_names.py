"""Names that no lab here has: of labs, of questions, of steps. Those that most learners share are counted under the names that they have.

A lab of one's own, or a question of an earlier version, is in many files. Ten thousand invented ones are in one file, and would be as many
columns of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.classroom.hand_in_file import HandIn, Refusal
from ironlaw.classroom.sheets import sheet
from ironlaw.ledger import Event

Name = tuple[str, ...]
MOST = {"lab": 20, "question": 60, "step": 60}
REVIEW = "review"  # it has cards instead of questions


def limited(ledgers: Sequence[HandIn]) -> tuple[list[HandIn], list[Refusal]]:
    """The ledgers without events under unknown names that few share, and a note for each that had some."""
    counts: Counter[Name] = Counter()
    for ledger in ledgers:
        counts.update({name for event in ledger.events for name in unknown(event)})
    kept = {
        name for kind, most in MOST.items() for name in sorted((n for n in counts if n[0] == kind), key=lambda n: (-counts[n], n))[:most]
    }
    if len(kept) == len(counts):
        return list(ledgers), []
    out: list[HandIn] = []
    notes: list[Refusal] = []
    for ledger in ledgers:
        events = tuple(event for event in ledger.events if all(name in kept for name in unknown(event)))
        left = len(ledger.events) - len(events)
        out.append(replace(ledger, events=events) if left else ledger)
        if left:
            reason = (
                f"{left:,} of its {len(ledger.events):,} events name labs, questions or steps that no lab here has and hardly any other"
                " file names; they are left out of the figures"
            )
            notes.append(Refusal(ledger.file, "unknown names", reason, ledger.name))
    return out, notes


def unknown(event: Event) -> Iterator[Name]:
    """The names of an event that no lab here has."""
    if not event.lab or event.lab == REVIEW:
        return
    here = sheet(event.lab)
    if not here.known:
        yield "lab", event.lab
    if event.kind in ("prediction", "reflection", "challenge") and event.question and event.question not in here.items:
        yield "question", event.lab, event.question
    if event.kind == "step" and event.payload["step"] not in here.places:
        yield "step", event.lab, str(event.payload["step"])
