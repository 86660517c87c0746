"""What the next lecture needs to know: where the class is divided, what a reveal changed, where learners stop, and what to show again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.classroom.answer_counts import ClassFigures, finished
from ironlaw.classroom.class_beliefs import Belief
from ironlaw.classroom.class_learner import Learner
from ironlaw.classroom.class_predictions import ItemFigures, Share

SMALL = 20  # learners under whom shares are hardly more than stories


@dataclass(frozen=True)
class Split:
    """A question whose two most frequent answers hold the class apart."""

    one: ItemFigures
    first: Share
    second: Share


@dataclass(frozen=True)
class Reveal:
    """The learners who answered both the prediction of an act and, after its reveal, the reflection: how many were right at each."""

    lab: str
    act: str
    n: int
    before: int
    after: int

    @property
    def share(self) -> float:
        return self.after / self.n


@dataclass(frozen=True)
class Stop:
    """Learners who have not finished a lab that they began, by their first open question; "" where only saving is left."""

    lab: str
    question: str
    learners: tuple[Learner, ...]


@dataclass(frozen=True)
class Next:
    """The reveal that convinced fewest, the belief that most still hold, and the first lab that most have not finished (`done` have)."""

    reveal: Reveal | None
    belief: Belief | None
    lab: str
    done: int


def enough(figures: ClassFigures) -> int:
    """How many answers a figure must rest on. In a small class it is all of them."""
    return min(SMALL, len(figures.learners))


def alive(figures: ClassFigures) -> list[Belief]:
    """Beliefs that were chosen and not given up since; the one that most hold first."""
    held = [b for b in figures.beliefs if b.met >= enough(figures) and b.chose > b.given_up]
    return sorted(held, key=lambda b: (-(b.chose - b.given_up) / b.met, b.name))


def splits(figures: ClassFigures) -> list[Split]:
    """The larger the second answer, the more the class has to say to each other."""
    found = []
    for one in figures.items:
        ranked = sorted(one.options, key=lambda option: -option.chosen)
        if one.n >= enough(figures) and len(ranked) > 1 and ranked[1].chosen:
            found.append(Split(one, ranked[0], ranked[1]))
    return sorted(found, key=lambda s: (-s.second.chosen / s.one.n, s.one.item.lab, s.one.item.name))


def reveals(figures: ClassFigures) -> list[Reveal]:
    """The reveals, by lab and act, in the order of the course."""
    listed = []
    for slug, lab in figures.sheets.items():
        for name, item in lab.items.items():
            after = next((other for other in (f"{name}_reflection", f"{name}_reflect") if other in lab.items), "")
            if item.kind not in ("prediction", "decision") or not after:
                continue
            both = [
                (one.work.answers[slug, name].correct, one.work.answers[slug, after].correct)
                for one in figures.learners
                if (slug, name) in one.work.answers and (slug, after) in one.work.answers
            ]
            if len(both) >= enough(figures):
                listed.append(Reveal(slug, name, len(both), sum(b for b, _ in both), sum(a for _, a in both)))
    return listed


def stops(figures: ClassFigures) -> list[Stop]:
    """The stops, those with most learners first."""
    waiting: dict[tuple[str, str], list[Learner]] = {}
    for one in figures.learners:
        for slug, lab in figures.sheets.items():
            if slug in one.work.labs and lab.known and lab.required and not (finished(one, lab) and slug in one.work.saved):
                question = next((name for name in lab.items if name in lab.required and (slug, name) not in one.work.answers), "")
                waiting.setdefault((slug, question), []).append(one)
    listed = [Stop(lab, question, tuple(learners)) for (lab, question), learners in waiting.items()]
    return sorted(listed, key=lambda stop: (-len(stop.learners), stop.lab, stop.question))


def following(figures: ClassFigures) -> Next:
    done = Counter(slug for one in figures.learners for slug, lab in figures.sheets.items() if finished(one, lab))
    lab = next((slug for slug, lab in figures.sheets.items() if lab.known and 2 * done[slug] < len(figures.learners)), "")
    held = alive(figures)
    return Next(_weakest(reveals(figures)), held[0] if held else None, lab, done[lab])


def _weakest(listed: Sequence[Reveal]) -> Reveal | None:
    return min(listed, key=lambda one: (one.share, one.lab, one.act), default=None)
