"""The cells of an act.

Which steps an act has follows from its places (questions.toml) and from what its module `act1` provides. `lab` is the lab that is open:

    dials(lab), view(lab, values)       the instrument; FOLLOWS: the dials that move with the context; MORE: those in the fold;
                                        FIXED: the context changes nothing there
    motion(lab, values)                 what moves under its picture: a list of widget.motion.Motion
    offers(lab)                         what designs of earlier labs could give its dials, each a kit.Offer
    truth(lab), distance(lab)           the reveal
    message, lock, reveal, blanks, reflection, peek, takeaways, challenge
                                        the slots of that section, where it has any: (lab), or () where none depends on the lab
    sealed(lab)                         an estimate or a curve that is sealed with the prediction
    CLAIMS                              the claims to show, three at most
    captions(lab)                       experiments for the learner's own machine; local_figures(lab): what they measured
    GOAL, task(lab)                     what a design is held to (kit.Goal), and the slots of the section `act2.task`
    challenge_feedback(lab, value, right), judge(lab, values)
                                        a number to commit, a design to commit
    STATES                              section -> states that run it again beside its own place: {"peek": ("context",)}

A place with a name of its own, `act2.walk`, is another instrument: `act2.walk_panel` provides its dials and view. So does
`act2.budget_panel` for the decision `act2_budget`, where `effect` is what the choice did.

An act is imported when it is first shown, and one that has STATES when the lab is opened: the page must know its states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from inspect import signature
from typing import Any

from ironlaw.kit import lab_parts
from ironlaw.kit.cell import Cell, Show
from ironlaw.kit.instrument import folded
from ironlaw.kit.lab_module import LabModule
from ironlaw.kit.picture_caption import moving
from ironlaw.kit.question_sheet import Question


def slots(module: Any, section: str, lab: Any) -> Any:
    """What a module provides for a section of the words; None where it provides nothing."""
    if section not in module.names:
        return None
    provided = getattr(module, section)
    return provided(lab) if signature(provided).parameters else provided()


class Act:
    """One act: its name in questions.toml, what provides its parts, and the parts that are places."""

    def __init__(self, name: str, module: LabModule, places: list[str], questions: Mapping[str, Question], is_first: bool) -> None:
        self.name, self.module, self.places, self.questions = name, module, places, questions
        self.decides = questions[name].kind == "decision"
        self.opens = "" if is_first else f"{name}.lock"
        self.prefix = re.sub(r"^act\d+_", "", name)

    def cells(self) -> Iterator[Cell]:
        yield self._message()
        yield self._cell(
            "lock", lambda lab: lab_parts.lock(lab, self.name, self._slots(lab, "lock"), self._slots(lab, "sealed")), self.opens
        )
        yield self._instrument(self.places[1], self.opens)
        if "GOAL" in self.module.names:
            yield self._cell("hint", lambda lab: lab_parts.hint(lab, self.name), self.name)
        if self.decides:  # the design is the answer, and what it does comes after it
            yield from [*self._design(), self._reveal()]
        else:
            yield from [self._reveal(), *self._design()]
        for part in self.places[2:]:
            yield from self.after(part)

    def after(self, part: str) -> Iterable[Cell]:
        """What a place after the first instrument has."""
        match part:
            case "claims":
                return self._claims()
            case "reflect":
                return self._reflect()
            case "peek":
                return [self._cell("peek", lambda lab: lab_parts.peek(lab, self.name, self._slots(lab, "peek")), f"{self.name}.peek")]
        if part.endswith("challenge"):
            return [self._challenge(part)]
        return [self._instrument(part, f"{self.name}.{part}")]

    def _cell(self, part: str, show: Show, opens: str = "", again: tuple[str, ...] = ()) -> Cell:
        return Cell(f"{self.prefix}_{part}", show, opens, (*again, *self._value("STATES", {}).get(part, ())))

    def _value(self, name: str, otherwise: Any) -> Any:
        return getattr(self.module, name) if name in self.module.names else otherwise

    def _slots(self, lab: Any, section: str) -> Any:
        return slots(self.module, section, lab)

    def _message(self) -> Cell:
        def message(lab: Any) -> Any:
            return lab_parts.message(lab, self.name, self._slots(lab, "message"), self._slots(lab, "task"))

        if self.decides or not self.opens:
            return self._cell("message", message, self.opens)
        closed = partial(lab_parts.closed, act=self.name)
        return self._cell("message", lambda lab: (message if lab.value(self.opens) else closed)(lab), again=(self.opens,))

    def _instrument(self, part: str, opens: str) -> Cell:
        own = "" if part == "instrument" else part

        def instrument(lab: Any) -> Any:
            lab.claims[self.name] = lambda: self.module.CLAIMS
            panel = getattr(self.module, f"{own}_panel") if own else self.module
            follows, offers = getattr(panel, "FOLLOWS", ()), partial(getattr(panel, "offers", lambda lab: ()), lab)
            more, fixed = getattr(panel, "MORE", ()), getattr(panel, "FIXED", False)
            goal = self._value("GOAL", None)
            aim = (goal, self._slots(lab, "task") or {}) if goal is not None and goal.panel == own else None
            view: Any = partial(panel.view, lab)
            if hasattr(panel, "motion"):
                view = moving(view, partial(panel.motion, lab))
            return lab_parts.instrument(lab, self.name, folded(panel.dials(lab), more), view, follows, own, offers, aim, fixed)

        return self._cell(part, instrument, opens, again=("contexts",))

    def _reveal(self) -> Cell:
        act = self.module

        def reveal(lab: Any) -> Any:
            truth = act.effect if "effect" in act.names else act.truth
            return lab_parts.reveal(lab, self.name, truth(lab), act.distance(lab), self._slots(lab, "reveal"))

        return self._cell("reveal", reveal, self.name)

    def _design(self) -> Iterator[Cell]:
        if "judge" in self.module.names:
            yield self._cell("design", lambda lab: lab_parts.decide(lab, self.name, partial(self.module.judge, lab)), self.name)

    def _claims(self) -> Iterator[Cell]:
        act, opens = self.module, f"{self.name}.claims"
        measures, has_figures = "captions" in act.names, "local_figures" in act.names

        def claims(lab: Any) -> Any:
            local = act.local_figures(lab) if has_figures else {} if measures else None
            return lab_parts.claims(lab, self.name, act.CLAIMS, local)

        yield self._cell("claims", claims, opens, ("measured",) if has_figures else ())
        if measures:
            yield self._cell("measure", lambda lab: lab_parts.measuring(lab, self.name, act.captions(lab)), opens)

    def _reflect(self) -> Iterator[Cell]:
        opens = f"{self.name}.reflect"
        blanks = [name for name, question in self.questions.items() if question.kind == "blank" and name.startswith(f"{self.name}_")]
        if blanks:
            yield self._cell("blanks", lambda lab: lab_parts.blanks(lab, self.name, blanks, self._slots(lab, "blanks")), opens)
        yield self._cell("reflection", lambda lab: lab_parts.reflect(lab, self.name, self._slots(lab, "reflection")), opens)

    def _challenge(self, part: str) -> Cell:
        def challenge(lab: Any) -> Any:
            return lab_parts.challenge(lab, self.name, part, self._slots(lab, part), partial(getattr(self.module, f"{part}_feedback"), lab))

        return self._cell(part, challenge, f"{self.name}.{part}")
