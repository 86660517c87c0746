"""A scripted learner who goes through a lab, from the first lock to the receipt, using what the page offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from book import Book
from visits import Parts, Visit, copy_of

ORDER = ("lock", "number", "decide", "hint", "reflect", "next", "save")
MOST = 400  # acts until a lab is done


def walk(visit: Visit, book: Book, key: str, right: bool | None) -> None:
    """To the end of the lab. Everything the learner does is recorded with what it changes on the page.

    `right`: whether the answers are; every other option is tried as well, on a copy of the ledger. None: the first option each time, and
    no other is tried.
    """
    done: set[str] = set()
    for number in range(MOST):
        name = _next(visit, done)
        if name is None:
            return
        done.add(name)
        before = len(visit.events())
        where = f"{key}/{number:02d} {name}"
        parts = ACTS[name.partition(" ")[0]](visit, name, book, where, right)
        book.keep(where, {**parts, "events": visit.events(before)})
    raise RuntimeError(f"{key} has no end after {MOST} acts")


def _next(visit: Visit, done: set[str]) -> str | None:
    waiting = [name for name in visit.names if name not in done and _waits(visit.traits(name))]
    return min(waiting, key=lambda name: ORDER.index(name.partition(" ")[0]), default=None)


def _waits(traits: dict[str, Any]) -> bool:
    view = traits["view"]
    match traits["kind"]:
        case "lock" | "number" | "decide":
            return view.get("committed") is None
        case "reflect":
            return view.get("answered") is None
        case "hint":
            return not view.get("asked")
        case "next":
            return not view.get("done")
        case "save":
            return not view.get("saved")
    return False


def _tried(visit: Visit, act: Callable[[Visit], Parts]) -> tuple[Parts, list[dict[str, Any]]]:
    """What an act changes and what the ledger gets, on a copy of the ledger."""
    with copy_of(visit.ledger) as ledger:
        other = Visit(visit.lab, ledger)
        before = len(other.events())
        parts = act(other)
        events = other.events(before)
        other.close()
    return parts, events


def _lock(visit: Visit, name: str, book: Book, where: str, right: bool | None) -> Parts:
    spec = visit.traits(name)["spec"]
    if right is None:
        return _commit(visit, name, 0, sealed=_sealed(spec))
    correct = []
    for place in range(len(spec["options"])):
        parts, events = _tried(visit, lambda other, place=place: _commit(other, name, place))  # type: ignore[misc]
        book.keep(f"{where}/option {place}", {**parts, "events": events})
        correct.append(bool(events[0]["payload"]["correct"]))
    if right:
        return _commit(visit, name, correct.index(True), sealed=_sealed(spec))
    wrong = [place for place, is_right in enumerate(correct) if not is_right]
    parts = _commit(visit, name, wrong[0])
    if name.endswith("1"):  # one act is tried again, and wrong again
        book.keep(f"{where}/again", _commit(visit, name, wrong[1], again=1))
    return parts


def _commit(visit: Visit, name: str, place: int, sealed: Parts | None = None, again: int = 0) -> Parts:
    more = {"again": visit.traits(name)["state"].get("again", 0) + again} if again else {}
    return visit.press(name, "commit", choice=place, confidence=2 + place % 4, **more, **(sealed or {}))


def _sealed(spec: dict[str, Any]) -> Parts:
    """What a lock asks for beside the choice."""
    sealed: Parts = {}
    if "estimate" in spec:
        sealed["estimate"] = (spec["estimate"]["min"] + spec["estimate"]["max"]) / 2
    if "sketch" in spec:
        asked = spec["sketch"]
        sealed["sketch"] = [min(asked["max"], asked["start"] + asked["step"] * index) for index in range(len(asked["points"]))]
    return sealed


def _reflect(visit: Visit, name: str, book: Book, where: str, right: bool | None) -> Parts:
    spec = visit.traits(name)["spec"]
    places = _choices(spec)
    if right is None:
        return visit.press(name, "answer", choice=places[0])
    correct = []
    with copy_of(visit.ledger) as ledger:
        other = Visit(visit.lab, ledger)
        for number, choice in enumerate(places):
            before = len(other.events())
            parts = other.press(name, "answer", choice=choice)
            events = other.events(before)
            book.keep(f"{where}/option {number}", {**parts, "events": events})
            correct.append([event["payload"]["correct"] for event in events])
        other.close()
    if "blanks" in spec:
        best = [[one[at] for one in correct].index(True) for at in range(len(spec["blanks"]))]
        return visit.press(name, "answer", choice=best if right else places[0])
    return visit.press(name, "answer", choice=[all(one) for one in correct].index(right))


def _choices(spec: dict[str, Any]) -> list[Any]:
    """Every option; of a sentence with blanks the first of each, then the second of each, and so on."""
    if "blanks" not in spec:
        return list(range(len(spec["options"])))
    sizes = [len(blank["options"]) for blank in spec["blanks"]]
    return [[min(place, size - 1) for size in sizes] for place in range(max(sizes))]


def _number(visit: Visit, name: str, book: Book, where: str, right: bool | None) -> Parts:
    if not right:
        return visit.press(name, "commit", value=1.0)
    for power in range(200):
        value = round(1.1**power, 4)
        _, events = _tried(visit, lambda other, value=value: other.press(name, "commit", value=value))  # type: ignore[misc]
        if events[0]["payload"]["correct"]:
            return visit.press(name, "commit", value=value)
    raise RuntimeError(f"{where}: no number was right")


def _press(visit: Visit, name: str, book: Book, where: str, right: bool | None) -> Parts:
    return visit.press(name)


ACTS: dict[str, Callable[[Visit, str, Book, str, bool | None], Parts]] = {
    "lock": _lock, "reflect": _reflect, "number": _number, "decide": _press, "hint": _press, "next": _press, "save": _press,
}  # fmt: skip
