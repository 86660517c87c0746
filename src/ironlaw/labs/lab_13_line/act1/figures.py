"""Act I's marks on the staircases, where a request's time is a length from its arrival on; and the law, with the learner's own line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironlaw import kit
from ironlaw.pictures.ends import decades
from ironlaw.pictures.lines import lines
from ironlaw.units import show, significant
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.quantities import exact

SAID, TRUE = 24, 32  # requests at whose arrival the two lengths begin: apart, so that each has room for its words


def marks(lab: kit.Lab, rate: float, end: float) -> list[Mark]:
    """Two lengths, as long as a request is in the system: the one you said and the one that it is. `end`: of the time axis."""
    option = lab.choice("act1")
    if option is None:
        return []
    truth = _length("ink", "truth", TRUE, rate, end, float(lab.question("act1").answer), "it is")
    if not isinstance(option.value, float):
        words = "◆ you said that these figures can't tell"
        return [mark("label", "accent", x=SAID / rate, y=float(SAID), label=words, role="prediction", id="prediction"), truth]
    return [_length("accent", "prediction", SAID, rate, end, option.value, "you said", option.label), truth]


def law(rate: float, seconds: float, in_flight: float, local: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """What is in flight over rate times time: one line for every system there is."""
    ends = [rate * seconds, in_flight, *(value for points in local.values() for point in points for value in point)]
    low, high = decades(0.9 * min(ends), 1.1 * max(ends))
    own = mark(
        "point", "accent", x=rate * seconds, y=in_flight, size=8, emphasis=True, id="point", name="as set",
        label=f"as set {significant(in_flight)}", hover=[("rate × time", exact(rate * seconds)), ("in flight", exact(in_flight))],
    )  # fmt: skip
    title = f"{significant(in_flight)} in flight = {significant(rate)} per second × {show(seconds, 's')}"
    return lines(
        {"L = λW": [(low, low), (high, high)]}, Axis("log", "rate × mean time", "", (low, high)), Axis("log", "in flight", "", (low, high)),
        title, extra=[own], id="law", local=local, more={"height": 330},
    )  # fmt: skip


def _length(colour: str, role: str, request: int, rate: float, end: float, seconds: float, words: str, told: str = "") -> Mark:
    """`told`: the time in the words of the option, where it is one."""
    start, level = request / rate, float(request)
    told = told or show(seconds, "s")
    return mark(
        "line", colour, points=[(start, level), (min(start + seconds, end), level)], role=role, id=role, emphasis=True,
        label=f"{'◆ ' if role == 'prediction' else ''}{words} {told}", name=f"{words} {told} in the system",
    )  # fmt: skip
