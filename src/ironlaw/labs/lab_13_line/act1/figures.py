"""What was predicted and what it is, on Act I's staircases: there a request's time is a length, from its arrival on."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.units import show
from ironlaw.widget.figure import Mark, mark

SAID, TRUE = 24, 32  # requests at whose arrival the two lengths begin: apart, so that each has room for its words


def marks(lab: kit.Lab, rate: float, end: float) -> list[Mark]:
    """Two lengths, as long as a request is in the system: the one you said and the one that it is. `end`: of the time axis."""
    option = lab.choice("act1")
    if option is None:
        return []
    truth = _length("ink", "truth", TRUE, rate, end, float(lab.question("act1").answer), "it is")
    if not isinstance(option.value, float):
        words = "you said: these figures don't tell"
        return [mark("label", "accent", x=SAID / rate, y=float(SAID), label=words, role="prediction", id="prediction"), truth]
    return [_length("accent", "prediction", SAID, rate, end, option.value, "you said"), truth]


def _length(colour: str, role: str, request: int, rate: float, end: float, seconds: float, words: str) -> Mark:
    start, level = request / rate, float(request)
    return mark(
        "line", colour, points=[(start, level), (min(start + seconds, end), level)], role=role, id=role, emphasis=True,
        label=f"{words} {show(seconds, 's')}", name=f"{words} {show(seconds, 's')} in the system",
    )  # fmt: skip
