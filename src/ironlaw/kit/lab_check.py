"""What a lab must fulfil: no hard-coded figures or keys, words for everything, and slots that match.

`problems(name)` reads a lab's files and runs it headless, locked and complete, on a ledger of its own.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ironlaw.errors import IronlawError
from ironlaw.kit import lab as labs
from ironlaw.kit import picture_caption, reading_time
from ironlaw.kit.challenge import commit as commit_number
from ironlaw.kit.check_prose import prose
from ironlaw.kit.ending import next_lab
from ironlaw.kit.lab_module import LabModule
from ironlaw.kit.lab_words import Words
from ironlaw.kit.option_tells import tells
from ironlaw.kit.page import Page
from ironlaw.kit.question_sheet import COMMITTED, Question, Sheet, is_hard_coded
from ironlaw.ledger import open_ledger
from ironlaw.registry.loader import read
from ironlaw.slots import hard_coded_figures

HEAD = ("title", "teaches", "sentence", "read_first", "context", "sender", "takeaways", "connections")
NEXT = re.compile(r"Next: \[[^\]]*\]\(\.\./(\w+)/?\)")
PER_DECISION = ("title", "message", "question", "premises", "instrument", "reveal")
PER_ACT = (*PER_DECISION, "peek")
MOST_PICTURES, MOST_DIALS = 3, 6  # of an instrument
PROVIDED = ("dials", "view", "truth", "distance", "CLAIMS")


def problems(name: str | Path, run: bool = True) -> list[str]:
    """Every fault of a lab, each in a sentence that says where."""
    try:
        folder = labs.folder(name)
        if (folder / "check.py").exists():  # a lab of another form
            own: list[str] = LabModule(folder, "check").problems(folder, run)
            return own
        with tempfile.TemporaryDirectory() as place:
            ledger = open_ledger(Path(place) / "check.db")
            try:
                lab = labs.open(folder, ledger)
                faults = [
                    *_words(lab.words, [context.label for context in lab.contexts]),
                    *_next(lab.slug, lab.words),
                    *_further(lab),
                    *_questions(lab.words, lab.sheet, _beliefs(folder)),
                    *_acts(folder, lab.sheet),
                    *_tasks(lab.words, folder, lab.sheet),
                ]
                if run and not faults:
                    faults = [*_claims(folder, lab.sheet), *_runs(folder, ledger)]
                return faults
            finally:
                ledger.close()
    except IronlawError as error:
        return [str(error)]


def _beliefs(folder: Path) -> set[str]:
    """Ours, and those of the labs that this one stands among."""
    own = folder.parent / "misconceptions.toml"
    return set(read(labs.LABS / "misconceptions.toml")) | (set(read(own)) if own.exists() else set())


def _words(words: Words, names: Iterable[str] = ()) -> Iterator[str]:
    for name in HEAD:
        if name not in words:
            yield f"{words.where}: no section [{name}]; add `## {name}`"
    yield from prose(words, names)


def _next(slug: str, words: Words) -> Iterator[str]:
    """The button at the end and the connections name the same lab."""
    after = next_lab(slug)
    for named in NEXT.findall(words.sections.get("connections", "")):
        if after is None or named != after[0]:
            goes_on = after[0] if after else "none"
            yield f"{words.where} [connections]: “Next” is {named}, and the course goes on with {goes_on}; write “Later:”"


def _further(lab: labs.Lab) -> Iterator[str]:
    """What goes beyond the core is introduced."""
    if lab.further and "further" not in lab.words:
        yield f"{lab.words.where}: no section [further]; say in a sentence or two what `further` of questions.toml goes on to"


def _questions(words: Words, sheet: Sheet, beliefs: set[str]) -> Iterator[str]:
    acts = [name for name, question in sheet.questions.items() if question.kind == "prediction"]
    for act in acts:
        sections = [f"{act}.{part}" for part in PER_ACT] + ([f"{act}.closed"] if act != acts[0] else [])
        yield from (f"{words.where}: no section [{name}]; add `## {name}`" for name in sections if name not in words)
        if f"{act}_reflection" not in sheet.questions:
            yield f"{sheet.questions[act].where}: [{act}] has no [{act}_reflection]; an act ends with one"
    for name in (name for name, question in sheet.questions.items() if question.kind == "decision"):
        sections = [f"{name}.{part}" for part in PER_DECISION]
        yield from (f"{words.where}: no section [{section}]; add `## {section}`" for section in sections if section not in words)
    for question in sheet.questions.values():
        yield from _question(words, question, beliefs)


def _acts(folder: Path, sheet: Sheet) -> Iterator[str]:
    for act in (name for name, question in sheet.questions.items() if question.kind == "prediction"):
        names = LabModule(folder, act).names
        yield from (
            f"{folder.name}/{act}.py: no {name}; every act provides {', '.join(PROVIDED)}" for name in PROVIDED if name not in names
        )


def _tasks(words: Words, folder: Path, sheet: Sheet) -> Iterator[str]:
    """A lab with a second act sets a task in one of its parts."""
    later = [name for name in sheet.questions if name.partition("_")[0] == "act2"]
    tasks = [name for name in later if f"{name}.task" in words]
    if later and not tasks:
        yield f"{words.where}: no section [act2.task]; write what is to be designed, and GOAL in {folder.name}/act2/goal.py"
    for name in tasks:
        act, _, own = name.partition("_")
        if "GOAL" not in LabModule(folder, f"{act}.{own}_panel" if own else act).names:
            yield f"{folder.name}: [{name}.task] has no GOAL to be judged by; add one, as docs/write-a-lab.md shows"


def _claims(folder: Path, sheet: Sheet) -> Iterator[str]:
    """Three claims an act at most, and none that only a draft made: docs/errata.md has those."""
    from ironlaw.claims import claim
    from ironlaw.kit.claim_panel import MOST

    for act in (name for name, question in sheet.questions.items() if question.kind == "prediction"):
        chosen = LabModule(folder, act).CLAIMS
        where = f"{folder.name}/{act}.py: CLAIMS"
        if len(chosen) > MOST:
            yield f"{where} has {len(chosen)} of them; choose {MOST}, those that somebody measured or that a colleague would say aloud"
        yield from (
            f"{where}: {name} is of a draft that nobody read; leave it to docs/errata.md" for name in chosen if claim(name).is_of_a_draft
        )


def _question(words: Words, question: Question, beliefs: set[str]) -> Iterator[str]:
    where = f"{question.where} [{question.name}]"
    if is_hard_coded(question.key):
        yield f"{where}: the key {question.key!r} is hard-coded; compute it from the engine or the registry"
        return
    if f"{question.name}.question" not in words:
        yield f"{words.where}: no section [{question.name}.question]; add it"
    if question.kind == "number":
        if f"{question.name}.feedback" not in words:
            yield f"{words.where}: no section [{question.name}.feedback]; a number that was entered is answered there"
        return
    yield from (f"{where}: {fault}" for fault in tells(question))
    right = question.right
    for option in question.options:
        if isinstance(option.value, str):  # a number's label is its value, which the author chooses
            yield from (
                f"{where}: {figure!r} is hard-coded in option {option.id!r}; say it in words" for figure in hard_coded_figures(option.label)
            )
        if f"{question.name}.feedback.{option.id}" not in words:
            yield f"{words.where}: no section [{question.name}.feedback.{option.id}]; every option has feedback, the right one too"
        if not option.misconception and option.id != right.id:
            yield f"{where}: option {option.id!r} names no misconception; add one"
        elif option.misconception and option.misconception not in beliefs:
            yield f"{where}: no misconception {option.misconception!r}; add it to labs/misconceptions.toml"


def _runs(folder: Path, ledger: object) -> list[str]:
    """The lab headless, from locked to complete. An exception in a cell is a problem; so is a section that nothing can show."""
    for stage in ("locked", "complete"):
        page = Page(folder, ledger)
        page.open()
        errors = {name: element.widget.view.get("error") for name, element in page.lab.elements.items()}
        faults = [
            *(
                f"{folder.name}: the cell {name} does not run {stage}: {type(error).__name__}: {error}"
                for name, error in page.failed.items()
            ),
            *(f"{folder.name}: the piece {name} can't compute: {error['message']}" for name, error in errors.items() if error),
        ]
        if faults:
            return faults
        if stage == "locked":
            complete(page.lab)
        else:
            return [*_screen(folder.name, page), *reading_time.faults(page)]
    return []


def _screen(name: str, page: Page) -> Iterator[str]:
    """What one sees after the commits: a sentence to each picture, three of those and six dials at most."""
    for instrument, made in page.lab.instruments.items():
        figures, dials = made.piece.view.get("figures", []), made.piece.spec["dials"]
        tabs = {figure.get("tab", figure["title"]) for figure in figures}
        if len(tabs) > MOST_PICTURES:
            yield f"{name}: {instrument} has {len(tabs)} pictures; take the {MOST_PICTURES} that decide"
        in_view = [dial["id"] for dial in dials if not dial.get("hidden") and not dial.get("more")]
        if len(in_view) > MOST_DIALS:
            yield f"{name}: {instrument} has {len(in_view)} dials in view; name some of {', '.join(in_view)} in MORE"
        for figure in figures:
            section, words = picture_caption.section(instrument, figure["id"]), len(figure.get("caption", "").split())
            if not words:
                yield f"{name}/words.md: no section [{section}]; say in one sentence what to notice in that picture"
            elif words > picture_caption.LONGEST:
                yield f"{name}/words.md [{section}]: {words} words; {picture_caption.LONGEST} at most"


def complete(lab: labs.Lab) -> None:
    """Commit and answer everything, as a learner who is right throughout, and go on to the end."""
    answer_all(lab)
    lab.ledger.append(lab.slug, "step", {"step": lab.places[-2].name})


def answer_all(lab: labs.Lab) -> None:
    """Commit and answer everything. The last act's maths waits."""
    for question in lab.questions.values():
        if question.kind == "number":
            commit_number(question, lab.ledger, lab.slug, float(question.answer))
            continue
        right = question.right
        if question.kind in COMMITTED:
            if lab.prediction(question.name) is None:
                lab.ledger.commit_prediction(lab.slug, question.name, right.id, right.value, 3, True, 1)
        elif not lab.has_answer(question.name):
            payload = {"question": question.name, "choice": right.id, "correct": True, "misconception": None}
            lab.ledger.append(lab.slug, "reflection", payload)
