"""Act I's words: truth, distance and slots, from the ledger as it was when the prediction was committed."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.numerics.forecasts import brier
from ironlaw.engine.numerics.shares import wilson
from ironlaw.kit.learner_keys import events_before
from ironlaw.labs.lab_v2_17_synthesis.record import labs_to_do, record
from ironlaw.recall.confidence import EVEN_ODDS, PROBABILITY
from ironlaw.recall.standing import EVERY, NOBODY, SURE_ONES, Standing, standing
from ironlaw.units import percent, significant

HIT, MISS = 16, 4  # predictions of the reflection


def asked_about(lab: kit.Lab) -> Standing:
    """What the question is about."""
    return standing(events_before(lab.ledger.events(), lab.slug, "act1"), lab.slug)


def message(lab: kit.Lab) -> dict[str, object]:
    own = asked_about(lab)
    return {"count": f"{len(own.predictions)}", "sure": f"{len(own.sure)}"}


def lock(lab: kit.Lab) -> dict[str, object]:
    own = asked_about(lab)
    which = {
        SURE_ONES: "the predictions you committed with confidence 4 or 5", EVERY: "all the predictions you committed",
        NOBODY: "the predictions of somebody who guesses blindly",
    }[own.basis]  # fmt: skip
    todo = ", ".join(labs_to_do(lab.ledger.events()))
    why = {
        SURE_ONES: f"Your ledger has {len(own.counted)} of them.",
        EVERY: f"Your ledger has {len(own.counted)}, too few of them with confidence 4 or 5 to ask about those alone.",
        NOBODY: f"Your ledger has no predictions from other labs yet. Do some first if you can ({todo}), and this will be about you.",
    }[own.basis]
    return {"which": which, "why": why, "options": f"{len(lab.question('act1').options)}"}


def truth(lab: kit.Lab) -> str:
    own = asked_about(lab)
    share = percent(float(lab.question("act1").answer))
    return f"{share}, {own.right} of {len(own.counted)}" if own.counted else share


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    if option is None or lab.holds("act1"):
        return "right" if option else ""
    return kit.points(100 * float(option.value), 100 * float(lab.question("act1").answer))


def reveal(lab: kit.Lab) -> dict[str, object]:
    own, share = asked_about(lab), float(lab.question("act1").answer)
    count, score = len(own.counted), record(lab).brier
    if not count or score is None:
        standing = lab.fill("act1.standing_nobody", share=percent(share), even=f"{EVEN_ODDS:g}")
        return {"share": percent(share), "beside": "", "standing": standing}
    interval = wilson(own.right, count)
    stated = sum(PROBABILITY[one.confidence] for one in own.counted) / count
    standing = lab.fill(
        "act1.standing_own", share=percent(share), stated=percent(stated), count=str(count), low=percent(interval.low),
        high=percent(interval.high), score=significant(score.score), even=f"{EVEN_ODDS:g}", side=_side(stated - share),
    )  # fmt: skip
    return {"share": percent(share), "beside": f", and your confidence stood for {percent(stated)}", "standing": standing}


def _side(gap: float) -> str:
    if abs(gap) <= 0.1:
        return "you are about as sure as you are right"
    return f"you are {'too sure' if gap > 0 else 'not sure enough'} by {significant(abs(100 * gap), 2)} points"


def reflection() -> dict[str, object]:
    sure, low, half = PROBABILITY[5], PROBABILITY[1], PROBABILITY[4]
    cases = {
        "nothing": [(sure, True)] * HIT + [(sure, False)] * MISS, "answers": [(sure, False)] * HIT + [(sure, True)] * MISS,
        "theme": [(sure, True)] * HIT + [(low, False)] * MISS, "everywhere": [(half, True)] * HIT + [(half, False)] * MISS,
    }  # fmt: skip
    scores = {name: brier(pairs) for name, pairs in cases.items()}
    return {
        **{name: significant(score.score) for name, score in scores.items() if score}, "all": str(HIT + MISS), "misses": str(MISS),
        "sure": percent(sure), "low": percent(low), "mid": percent(half),
    }  # fmt: skip


def peek() -> dict[str, object]:
    parts = brier([(PROBABILITY[5], True)] * HIT + [(PROBABILITY[5], False)] * MISS)
    assert parts is not None
    interval = wilson(6, 8)
    return {
        **{f"p{level}": percent(share) for level, share in PROBABILITY.items()}, "score": significant(parts.score),
        "reliability": significant(parts.reliability), "resolution": significant(parts.resolution),
        "uncertainty": significant(parts.uncertainty), "low": percent(interval.low), "high": percent(interval.high),
    }  # fmt: skip
