"""Names that no lab here has: of labs, of questions, of steps. Those that most learners share are counted under the names that they have.

A lab of one's own, or a question of an earlier version, is in many files. Ten thousand invented ones are in one file, and would be as many
columns of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ironlaw.classroom.hand_in_file import HandIn, Name, Refusal

MOST = {"lab": 20, "question": 60, "step": 60}


def limited(
    ledgers: Sequence[HandIn], again: Callable[[HandIn, frozenset[Name]], HandIn | Refusal]
) -> tuple[list[HandIn], list[Refusal], list[Refusal]]:
    """The ledgers without events under unknown names that few share, a note for each that had some, and what could not be read again.

    `again(ledger, names)` reads one again, and of the unknown names those alone.
    """
    counts: Counter[Name] = Counter()
    for ledger in ledgers:
        counts.update(ledger.unknown)
    kept = frozenset(
        name for kind, most in MOST.items() for name in sorted((n for n in counts if n[0] == kind), key=lambda n: (-counts[n], n))[:most]
    )
    if len(kept) == len(counts):
        return list(ledgers), [], []
    out: list[HandIn] = []
    notes: list[Refusal] = []
    lost: list[Refusal] = []
    for ledger in ledgers:
        read = ledger if ledger.unknown <= kept else again(ledger, kept)
        if isinstance(read, Refusal):
            lost.append(read)
            continue
        out.append(read)
        left = ledger.work.events - read.work.events
        if left > 0:
            reason = (
                f"{left:,} of its {ledger.work.events:,} events name labs, questions or steps that no lab here has and hardly any other"
                " file names; they are left out of the figures"
            )
            notes.append(Refusal(ledger.file, "unknown names", reason, ledger.name))
    return out, notes, lost
