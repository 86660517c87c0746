"""Act I's words: the truth, the distance, and the slots of each section."""

from __future__ import annotations

from ironlaw import kit


def truth(lab: kit.Lab) -> str:
    return kit.times(float(lab.question("act1").answer))


def distance(lab: kit.Lab) -> str:
    """How far off the prediction was; empty before there is one."""
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    return {"gap": truth(lab)}


def peek(lab: kit.Lab) -> dict[str, object]:
    return {"gap": truth(lab)}
