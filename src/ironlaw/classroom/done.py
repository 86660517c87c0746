"""Who has done what an assignment asks for, and by when. Done is done: whether an answer was right plays no part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ironlaw.classroom.assignment import Assignment
from ironlaw.classroom.hand_in_file import HandIn
from ironlaw.classroom.sheets import sheet


@dataclass(frozen=True)
class Standing:
    """`times`: (lab, act) -> when it was done; those that are not done are missing. `late`: after the date."""

    hand_in: HandIn
    times: dict[tuple[str, int], str]
    late: frozenset[tuple[str, int]]
    asked: int

    @property
    def done(self) -> int:
        """How many acts were done in time."""
        return len(self.times) - len(self.late)

    @property
    def share(self) -> float:
        return self.done / self.asked


def standing(hand_in: HandIn, assignment: Assignment) -> Standing:
    times, work = {}, hand_in.work
    for one in assignment.asked:
        answered = {question: answer.time for (lab, question), answer in work.answers.items() if lab == one.slug}
        saved = work.saved.get(one.slug, "")
        for act in one.acts:
            if time := answered.get(f"act{act}", "") if one.own else _when(answered, saved, one.slug, act):
                times[one.slug, act] = time
    late = frozenset(key for key, time in times.items() if assignment.until and time > assignment.until)
    return Standing(hand_in, times, late, assignment.acts)


def _when(answered: dict[str, str], saved: str, slug: str, act: int) -> str:
    """An act is done with the last of its questions, Act II with the saved design as well; empty where something is missing."""
    asked = [name for name in sheet(slug).required if name.partition("_")[0] == f"act{act}"]
    times = [answered.get(name, "") for name in asked] + ([saved] if act == 2 else [])
    return max(times) if times and all(times) else ""


def words(one: Standing, assignment: Assignment, name: Callable[[str], str]) -> str:
    """For people: `Lab 07 done; Lab 11 Act I late`."""
    parts = []
    for lab in assignment.asked:
        acts = [(act, (lab.slug, act)) for act in lab.acts]
        states = ["late" if key in one.late else "done" if key in one.times else "open" for _, key in acts]
        label = name(lab.slug) or lab.slug
        if lab.own:
            parts += [f"question {act} {state}" for (act, _), state in zip(acts, states, strict=True)]
            continue
        if len(set(states)) == 1:
            parts.append(f"{label}{'' if len(acts) == 2 else f' Act {chr(73) * acts[0][0]}'} {states[0]}")
        else:
            parts.append(f"{label} Act I {states[0]}, Act II {states[1]}")
    return "; ".join(parts)
