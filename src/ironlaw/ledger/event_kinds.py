"""Every kind of event and what its payload holds. A kind that is not here is kept, exported, and ignored by every reader."""

from __future__ import annotations

from ironlaw.formats import FORMATS
from ironlaw.ledger.payload_fields import ByKind, Field, Flag, Id, Items, Maybe, Moment, Name, OneOf, Positive, Record, Text, Whole, Within

ANY = Field()
CONFIDENCE = Whole(1, 5)
SECONDS = Positive(1e9)
FORMAT = OneOf(tuple(FORMATS))
SIZE = Whole(1, 1_000_000)

# What a learner may add to a choice before it is sealed: the figure that they expect, and a curve as the heights of its points.
SEALED: dict[str, Field] = {"estimate": Positive(), "sketch": Items(Within(0, 1e12), 1, 50)}

# A row of a measurement, as in evidence files: a median and its quantiles, and what was measured.
TIMING: dict[str, Field] = {"wall_s": SECONDS, "low_s": SECONDS, "high_s": SECONDS, "samples": Whole(1, 10**9)}
WAITED: dict[str, Field] = {"sync_s": SECONDS, "sync_low_s": SECONDS, "sync_high_s": SECONDS}
AMOUNT = Within(-1e12, 1e12)
FIGURE: dict[str, Field] = {"value": AMOUNT, "low": AMOUNT, "high": AMOUNT, "samples": Whole(1, 10**9)}
ROW = ByKind(
    {
        "launch": Record({"op": Name(), **TIMING, **WAITED}, {"params": Record()}),
        "op": Record({"op": Name(), **TIMING, "params": Record({"n": SIZE, "dtype": FORMAT})}),
        "model": Record({**TIMING, "mode": Name(), "params": Record({"batch": SIZE, "dtype": FORMAT})}),
        "function": Record(
            {**TIMING, "mode": Name(), "params": Record({"shape": Items(SIZE, 2, 2), "dtype": FORMAT}, {"ops": SIZE})},
        ),
        "case": Record({"name": Name(), "label": Text(), **TIMING, "params": Record()}),
        "figure": Record({"name": Name(), "label": Text(), **FIGURE, "unit": Text(), "params": Record()}),
    }
)

KINDS: dict[str, Record] = {
    "opened": Record(),
    "prediction": Record({"question": Name(), "choice": ANY, "value": ANY, "confidence": CONFIDENCE, "correct": Flag()}, SEALED),
    "reflection": Record({"question": Name(), "choice": ANY, "correct": Flag()}, {"misconception": Maybe(Name(empty=True))}),
    "design": Record(),
    "context": Record({"context": Name()}),
    "step": Record({"step": Name()}),  # a place of a lab that the learner left with its button
    "challenge": Record({"question": Name(), "value": Positive(), "correct": Flag()}),
    "decision": Record({"question": Name(), "dials": Record(), "met": Flag()}),  # where the dials stood when the learner committed them
    "hint": Record({"question": Name(), "dials": Record(), "turns": Record()}),  # a way out that was asked for, and which turns it named
    "measured": Record(
        {
            "experiment": Name(), "rows": Items(ROW, 1), "machine": Record(), "software": Record(),
            "noise": Record({}, {"reasons": Items(ANY)}),
        },
        {"library": Text()},
    ),
    "card": Record(),
    "reviewed": Record(
        {
            "card": Name(), "seed": Whole(-(2**63), 2**63), "answer": Text(), "confidence": CONFIDENCE, "correct": Flag(),
            "misconception": Maybe(Name()), "at": Moment(),
        }
    ),
    "undo": Record({"event": Id()}),
    "ticked": Record({"statement": Name(), "ticked": Flag()}),
    "written": Record({"prompt": Name(), "text": Text()}),
    "named": Record({"name": Name(80, empty=True)}),
    "reset": Record(),
    # written when a broken ledger was set aside: how many events were carried over, how many could not be, and where the old one is
    "carried": Record({"from": Text(), "reason": Text(), "kept": Whole(0, 10**9), "lost": Whole(0, 10**9)}),
}  # fmt: skip
