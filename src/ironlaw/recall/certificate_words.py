"""What a certificate proves and what it can't, as the file and the page say it. A reader who has nothing else must not believe more."""

from __future__ import annotations

PROVES = (
    "Every figure follows from the events of one ledger, from its first event to the one whose hash is stated."
    " `ironlaw ledger verify` computes each figure again.",
    "If someone noted that hash on some day, no event up to it was changed, moved, added or removed since that day.",
)
NOT_PROVED = (
    "Who answered. The ledger's id and the name were made on the learner's own computer; nobody checked either.",
    "When. All times, the date of issue included, come from that computer's clock.",
    "That the answers were new to the learner. Trying first in a second ledger or another browser leaves no trace in this one.",
    "That the labs wrote the events. A program can write or rewrite a whole ledger, measurements included, with a chain that fits.",
    "That the ledger ends here. A certificate may cover only its beginning, up to whichever event the learner chose.",
    "That imported events are the learner's own. Those that still carry another ledger's id are counted under `imported`;"
    " ones that were given this ledger's id can't be told apart.",
    "The date of issue and the version of ironlaw (`issued`, `ironlaw`), which no event holds.",
)


def statement() -> dict[str, list[str]]:
    """The part of the file that says so; a certificate whose words differ is refused."""
    return {"proves": list(PROVES), "does_not_prove": list(NOT_PROVED)}
