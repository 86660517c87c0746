"""Several files of one learner, and what is worth a look in those that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ironlaw.classroom.hand_in_file import HandIn, Refusal, parts

CONTRADICTS = (
    "it and {other} carry the id of the same ledger, but neither goes on from the other: one was forged, or both grew from one copy."
    " Neither counts; take out the one that is not the learner's, and run it again"
)


def one_each(ledgers: Iterable[HandIn]) -> tuple[list[HandIn], list[Refusal]]:
    """One file for each learner. A file with a chain goes before one without, then the longest counts, and of equally long ones the newest.

    A later file must hold what the earlier one ended with. Where two files contradict each other, neither counts: anybody can read a
    learner's id in a certificate, so being the longer one doesn't make a file the true one.
    """
    by_learner: dict[str, list[HandIn]] = {}
    for ledger in ledgers:
        by_learner.setdefault(ledger.learner, []).append(ledger)
    kept: list[HandIn] = []
    refused: list[Refusal] = []
    for several in by_learner.values():
        several.sort(key=lambda one: (one.verified, one.work.events, one.exported), reverse=True)
        best, *others = several
        rival = next((one for one in others if contradicts(best, one)), None)
        if rival is not None:
            listed = [(one, rival if one is best else best) for one in several]
            refused += [Refusal(one.file, "contradicts", CONTRADICTS, one.name, other.file) for one, other in listed]
            continue
        kept.append(best)
        refused += [_doubled(best, other) for other in others]
    return sorted(kept, key=lambda one: one.file), refused


def contradicts(best: HandIn, other: HandIn) -> bool:
    """Whether they contradict each other. A file without a chain never counts against one that has it."""
    if other.verified:
        return not best.holds(other)
    return not best.verified and bool(set(parts(other.ids)) - set(parts(best.ids)))


def _doubled(best: HandIn, other: HandIn) -> Refusal:
    ids = set(parts(best.ids))
    own = sum(id not in ids for id in parts(other.ids))
    fewer = best.work.events - other.work.events
    same = "the same events" if not own and not fewer else f"{fewer:,} events fewer" if not own else f"{own:,} events of its own"
    return Refusal(other.file, "doubled", f"another file of the same learner, with {same}; {{other}} counts", other.name, best.file)


def notes(ledgers: Sequence[HandIn]) -> Iterator[Refusal]:
    """What does not keep a ledger from counting, but is worth a look."""
    owner = {ledger.learner: ledger.file for ledger in ledgers}
    names: dict[str, list[str]] = {}
    first: dict[bytes, HandIn] = {}  # a prediction's id -> the first ledger that has it
    for ledger in ledgers:
        names.setdefault(ledger.name.casefold(), []).append(ledger.file)
    for ledger in ledgers:
        if not ledger.verified:
            reason = "it has no chain of hashes (an old version or a rescue wrote it): it counts, unverified"
            yield Refusal(ledger.file, "unverified", reason, ledger.name)
        if ledger.stated != ledger.name:
            reason = "the head of the file gives another name than the events of the ledger: it was edited; the name in the events counts"
            yield Refusal(ledger.file, "renamed", reason, ledger.name)
        yield from _shared(ledger, owner, first)
        same = names[ledger.name.casefold()] if ledger.name else [ledger.file]
        if len(same) > 1:
            many = f"{len(same) - 1:,} other files have" if len(same) > 2 else "{other} has"
            such = ", such as {other}" if len(same) > 2 else ""
            reason = f"{many} the same name and another ledger{such}; all count: one person on several devices, perhaps"
            yield Refusal(ledger.file, "same name", reason, ledger.name, same[0] if same[0] != ledger.file else same[1])


def _shared(ledger: HandIn, owner: dict[str, str], first: dict[bytes, HandIn]) -> Iterator[Refusal]:
    """Events under another learner's id were imported; the same events under one's own id were copied."""
    total = f"its {ledger.work.events:,} events"
    imported = {learner: many for learner, many in ledger.others.items() if learner in owner}
    for learner, many in sorted(imported.items()):
        reason = f"{many:,} of {total} are those of {{other}}: one was imported into the other"
        yield Refusal(ledger.file, "shared", reason, ledger.name, owner[learner])
    copied = Counter(
        earlier.file
        for learner, ids in ledger.predictions.items()
        if learner not in imported
        for id in parts(ids)
        if (earlier := first.setdefault(id, ledger)) is not ledger
    )
    for other, many in sorted(copied.items()):
        if other not in {owner[learner] for learner in imported}:
            reason = (
                f"{many:,} of its predictions are also in {{other}}, the same to the last digit of their ids: one was copied from the other"
            )
            yield Refusal(ledger.file, "shared", reason, ledger.name, other)
