"""The places of a lab, in order. A place is shown once the one before it is done: by a commit, an answer, or the button that leads on.

A lab lists them in questions.toml (`[lab] places`), each as `act.part`; without a list they follow from its questions. What was done is
read from the ledger, so that a reload, another browser and another day lead to the same place.

What goes beyond a lab's core is listed apart (`[lab] further`): those places follow the receipt, are open together once it is, and none has
to be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ironlaw.errors import BadRegistry
from ironlaw.kit.question_sheet import COMMITTED, Question, Sheet
from ironlaw.ledger import Event

END, FURTHER = "end", "further"
# part -> what the rail calls it
LABELS = {
    "lock": "Predict", "instrument": "Explore", "sketch": "Draw", "claims": "Claims", "reflect": "Reflect", "peek": "Why",
    "challenge": "Challenge", END: "Receipt",
}  # fmt: skip
DESIGN = "Design"
DECISION = {"lock": "Decide", "instrument": "Effect"}
# part -> the button that leads to it
LEADS = {
    "sketch": "Draw the curve yourself", "reflect": "Check yourself",
    "challenge": "Take the challenge", END: "Finish: see your receipt",
}  # fmt: skip

# whether anything was measured -> what an act's claims are called, and the button that leads there
CLAIMS = {True: "What was measured", False: "Check the claims"}
CLAIMS_LEAD = {True: "See what was measured", False: "Check the claims"}


@dataclass(frozen=True, slots=True)
class Place:
    name: str  # "act1.claims", or "end"
    label: str

    @property
    def act(self) -> str:
        return self.name.partition(".")[0]

    @property
    def part(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def anchor(self) -> str:
        return self.name.replace(".", "-")


def places(sheet: Sheet, designed: Sequence[str] = ()) -> tuple[Place, ...]:
    """`designed`: the acts that set a task; it is done at the place after their lock."""
    names = [str(name) for name in sheet.lab.get("places", ())] or _usual(sheet.questions, _further(sheet))
    return _labelled(sheet, names, designed)


def further(sheet: Sheet) -> tuple[Place, ...]:
    """What is beyond the core."""
    return _labelled(sheet, _further(sheet))


def _further(sheet: Sheet) -> list[str]:
    return [str(name) for name in sheet.lab.get("further", ())]


def _labelled(sheet: Sheet, names: Sequence[str], designed: Sequence[str] = ()) -> tuple[Place, ...]:
    panels = {str(part): str(label) for part, label in sheet.lab.get("panels", {}).items()}  # what the rail calls a lab's own parts
    tasks = {after for lock, after in pairwise(names) if lock.removesuffix(".lock") in designed and lock.endswith(".lock")}
    listed = []
    for name in names:
        act, _, part = name.rpartition(".")
        known = sheet.questions.get(act)
        special = DECISION if known is not None and known.kind == "decision" else {}
        label = DESIGN if name in tasks else panels.get(name) or panels.get(part) or special.get(part) or LABELS.get(part)
        if label is None or (act and known is None):
            raise BadRegistry(
                f"[lab] places: {name!r} is not a place; write act.part with an act of this file and a part of "
                f"{', '.join(LABELS)}, or name the part under [lab.panels]"
            )
        listed.append(Place(name, label))
    return tuple(listed)


def _usual(questions: Mapping[str, Question], apart: Sequence[str]) -> list[str]:
    names: list[str] = []
    for name, question in questions.items():
        if question.kind == "prediction":
            names += [f"{name}.{part}" for part in ("lock", "instrument", "claims", "reflect", "peek")]
        elif question.kind == "decision":
            names += [f"{name}.lock", f"{name}.instrument"]
    return [*(name for name in names if name not in apart), END]


def reached(listed: Sequence[Place], questions: Mapping[str, Question], events: Iterable[Event]) -> int:
    """The index of the place that waits for the learner: after the last one that is done. Places before that are done too."""
    answered: set[str] = set()
    steps: set[str] = set()
    for event in events:
        question = questions.get(event.question or "")
        if event.kind == "step":
            steps.add(str(event.payload["step"]))
        elif question is not None and (event.kind == "challenge" or question.answers([event])):
            answered.add(question.name)
    done = [index for index, place in enumerate(listed) if place.name in steps or _done(place, questions, answered)]
    return min(max(done, default=-1) + 1, len(listed) - 1)


def _done(place: Place, questions: Mapping[str, Question], answered: set[str]) -> bool:
    if place.part == "lock":
        return place.act in answered
    if place.part == "reflect":
        asked = {name for name, q in questions.items() if name.startswith(f"{place.act}_") and q.kind in ("reflection", "blank")}
        return bool(asked) and asked <= answered
    return False  # by going on


def commits(place: Place, questions: Mapping[str, Question]) -> bool:
    """Whether the place is left by a commit or an answer, and so needs no button of its own."""
    return place.part in ("lock", "reflect") and (place.part == "reflect" or questions[place.act].kind in COMMITTED)
