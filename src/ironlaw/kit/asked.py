"""An instructor's own questions, as a lab without instruments. Each is locked until a prediction is committed, then says what is true.

`ironlaw class assign` writes its questions.toml and words.md, the two files of such a lab; `ironlaw.own_labs` puts them into a folder with
the few lines of code that lead here. A question is an act of that lab: the ledger, the report and the course system take it as any other.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.kit import frame, journey, page_host, prose, step
from ironlaw.kit import lab as labs
from ironlaw.kit import lock as locks
from ironlaw.kit import question_sheet as sheets
from ironlaw.kit.cell import Cell
from ironlaw.kit.question_sheet import Question
from ironlaw.kit.reveal import Distance, off, reveal
from ironlaw.units import significant


def cells(folder: Path) -> tuple[Cell, ...]:
    listed = [Cell("header", frame.header), Cell("rail", frame.rail, again=("progress",))]
    for number, name in enumerate(sheets.load(folder / "questions.toml").questions):
        opens = f"{name}.lock" if number else ""
        listed += [
            Cell(f"{name}_title", partial(_title, name=name), opens),
            Cell(f"{name}_lock", partial(_lock, name=name), opens),
            Cell(f"{name}_reveal", partial(_reveal, name=name), name),
        ]
    listed += [Cell("receipt", _receipt, journey.END), Cell("hud", lambda lab: frame.hud(lab, [], _design(lab)), again=("progress",))]
    return tuple(listed)


def problems(folder: Path, run: bool = True) -> list[str]:
    """What is wrong with it, opened with nothing answered and with everything."""
    from ironlaw.kit.lab_check import answer_all
    from ironlaw.kit.page import Page
    from ironlaw.ledger import open_ledger

    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place) / "check.db") as ledger:
        try:
            for _ in range(2 if run else 0):
                page = Page(folder, ledger)
                page.open()
                if page.failed:
                    return [f"{folder.name}: the cell {name} does not run: {error}" for name, error in page.failed.items()]
                answer_all(page.lab)
            labs.open(folder, ledger)
        except IronlawError as error:
            return [str(error)]
    return []


def truth(question: Question) -> str:
    """What the engine computes, as inline HTML; the right option's own words where it is not a number."""
    answer = question.answer
    if question.scale and isinstance(answer, (int, float)):
        return prose.dress(" ".join(filter(None, (significant(float(answer)), question.unit))))
    return prose.inline(question.right.label)


def _distance(question: Question, chosen: float | str) -> str:
    answer = question.answer
    if question.scale != "log" or not isinstance(answer, (int, float)) or not isinstance(chosen, (int, float)):
        return ""
    return off(Distance(float(chosen), float(answer)))


def _title(lab: labs.Lab, name: str) -> Any:
    return page_host.html(step.step(name, "message", f'<h2 class="il-act-title">{prose.inline(lab.words[f"{name}.title"])}</h2>'))


def _lock(lab: labs.Lab, name: str) -> Any:
    ask, premises = lab.words.fill_all([f"{name}.question", f"{name}.premises"], {}).values()
    after = lab.progress.after(f"{name}.lock")
    to = after.anchor if after else ""
    piece = locks.lock(lab.question(name), ask, premises, lab.ledger, lab.slug, lambda: _on_commit(lab), to)
    return lab.show(name, piece, name, "lock", "Your prediction")


def _on_commit(lab: labs.Lab) -> None:
    """There is nothing to set up here, so the last answer ends the lab."""
    lab.record.forget()
    if lab.record.complete and lab.progress.design is None:
        lab.ledger.append(lab.slug, "design", frame.designed(lab, _design(lab)))
    lab.changed()


def _reveal(lab: labs.Lab, name: str) -> Any:
    option, event = lab.choice(name), lab.prediction(name)
    if option is None or event is None:
        return None
    question = lab.question(name)
    slots = {"answer": prose.Markup(truth(question))}
    sections = [section for section in (f"{name}.feedback.{option.id}", f"{name}.reveal") if section in lab.words]
    meaning = "\n\n".join(lab.words.fill_all(sections, {}, slots).values())
    first = question.answers(lab.ledger.attempts(lab.slug, name))[0].attempt
    distance = _distance(question, option.value)
    text = reveal(
        prose.inline(option.label), slots["answer"], distance, meaning, bool(event.payload["correct"]), again=event.attempt > first
    )
    return page_host.html(step.step(name, "reveal", text))


def _receipt(lab: labs.Lab) -> Any:
    from ironlaw.kit import ending

    answered = {name: (truth(lab.question(name)), "") for name in lab.questions if lab.first_choice(name) is not None}
    kept = '<p class="il-hint">Every answer is in your ledger already, so there is nothing to save here.</p>'
    return page_host.html(ending.end(ending.receipt(lab.slug, frame.end_rows(lab, answered), kept)))


def _design(lab: labs.Lab) -> dict[str, Any]:
    return dict(lab.outcomes(*lab.questions))
