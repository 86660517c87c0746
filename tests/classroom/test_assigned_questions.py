"""An assignment's own questions: written, refused with a reason, answered in a lab of their own, and counted with everything else."""

import csv
import json
from pathlib import Path

import pytest
from made_class import Plan, events, export, plan, text

from ironlaw import own_labs
from ironlaw.classroom import assigned_questions, assignment, collect, count, sheets
from ironlaw.cli import main
from ironlaw.kit import page as pages
from ironlaw.ledger.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.site import bundle, scorm

GAP = 'hardware("h100_sxm").bandwidth / hardware("pi5").bandwidth'
OPTIONS = [{"id": f"e{n}", "value": 10**n, "label": f"{10**n:,}×"} for n in (1, 2, 3, 5)]
NUMBER = {"title": "A wider bus", "asks": "How *much* wider?", "key": GAP, "scale": "log", "unit": "×", "options": OPTIONS,
          "feedback": "The engine divides: {{ answer }}."}  # fmt: skip
NAME = {
    "title": "What limits it", "asks": "Which?", "key": 'leading(predict(workload("resnet50", batch=1), hardware("h100_sxm")), 0.1)',
    "options": [{"id": each, "value": each, "label": each.capitalize()} for each in ("memory", "compute", "overhead", "equal")],
    "feedback": "It is {{ answer }}.",
}  # fmt: skip
SLUG = "asked_week_3"


def toml(*questions: dict, labs: str = "") -> str:
    def table(values: dict) -> str:
        return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())

    lines = ['title = "Week 3"', labs]
    for one in questions:
        lines += ["[[question]]", *(f"{key} = {json.dumps(value)}" for key, value in one.items() if key != "options")]
        options = one.get("options", ())
        lines.append(f"options = [{', '.join(f'{{ {table(each)} }}' for each in options)}]" if isinstance(options, list) else "")
    return "\n".join(lines) + "\n"


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The assignment, as the file that is handed out. What it makes of a process is taken back."""
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(own_labs.VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    Path("labs.toml").write_text(toml(NUMBER, NAME, labs='[[lab]]\nname = "lab_07"\nacts = [1]'), encoding="utf-8")
    sheets.installed.cache_clear()
    assert main(["class", "assign", "labs.toml"]) == 0
    yield Path("assignment.json")
    monkeypatch.undo()
    sheets.installed.cache_clear()


def opened(ledger: Ledger) -> tuple[pages.Page, dict]:
    page = pages.Page(own_labs.folder_of(SLUG), ledger)
    return page, page.open()


def commit(page: pages.Page, lab, name: str, choice: int) -> None:
    lab.elements[name].widget.state = {"choice": choice, "confidence": 4, "commit": 1}


def test_each_question_is_locked_until_a_prediction_and_ends_in_the_ledger(asked):
    made = assignment.adopt(asked)
    assert made.acts == 3 and made.questions.slug == SLUG and made == assignment.read(asked)
    ledger = Ledger(
        MemoryStore("00000000-0000-4000-8000-000000000001", "2026-03-02T09:00:00.000000Z"), "00000000-0000-4000-8000-000000000001"
    )
    page, html = opened(ledger)
    assert "How <em>much</em> wider?" in str(page.lab.elements["act1"].widget.spec["question"])
    assert "196" not in str(html) and not html["act1_reveal"] and not html["act2_lock"] and not html["receipt"]
    commit(page, page.lab, "act1", 0)
    page, html = opened(ledger)
    assert (
        "The engine divides: <" in html["act1_reveal"] and "196" in html["act1_reveal"] and "too low by a factor of" in html["act1_reveal"]
    )
    assert html["act2_lock"] and not html["act2_reveal"] and not html["receipt"]
    commit(page, page.lab, "act2", 2)
    page, html = opened(ledger)
    assert "Your prediction holds" in html["act2_reveal"] and "You were" not in html["act2_reveal"] and "Overhead" in html["receipt"]
    given = [(e.payload["question"], e.payload["choice"], e.payload["correct"]) for e in ledger.events(SLUG) if e.kind == "prediction"]
    assert given == [("act1", "e1", False), ("act2", "overhead", True)]
    assert [e.kind for e in ledger.events(SLUG)].count("design") == 1  # the last answer ends it
    assert not pages.Page(own_labs.folder_of(SLUG), ledger).failed and main(["lab", "check", SLUG]) == 0


def answered(number: int, names: tuple[str, ...]) -> dict:
    one: Plan = plan(number)
    one.name = f"Learner {number}"
    listed = events(one)
    for n, name in enumerate(names):
        choice, right = ("e2", True) if name == "act1" else ("compute", False)
        payload = {"question": name, "choice": choice, "value": choice, "confidence": 4, "correct": right}
        like = listed[-1]
        listed.append(type(like)(f"{number:08d}-0000-4000-8000-{n:012d}", one.learner, 1, SLUG, 1, "prediction", payload, like.time))
    return export(one, listed)


def test_report_check_and_json_count_the_questions(asked, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for number, names in ((1, ("act1", "act2")), (2, ("act1",)), (4, ())):
        (tmp_path / "in" / f"{number}.json").write_text(text(answered(number, names)), encoding="utf-8")
    assert main(["class", "check", "in", "--assignment", "assignment.json"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "question 1 done; question 2 open" in out and "question 1 done; question 2 done" in out and "1 of 3 have done all of it" in out
    rows = list(csv.DictReader((tmp_path / "class-check" / "done.csv").open(encoding="utf-8-sig")))
    assert [bool(row[f"{SLUG}_act2"]) for row in rows] == [True, False, False] and {row["acts_asked"] for row in rows} == {"3"}
    figures = count(collect(tmp_path / "in"))
    item = next(one for one in figures.items if (one.item.lab, one.item.name) == (SLUG, "act1"))
    assert (item.n, item.right, item.item.text) == (2, 2, "How much wider?") and item.item.answer == pytest.approx(196, rel=0.01)
    assert {option.label: option.chosen for option in item.options}["100×"] == 2
    assert main(["class", "report", "in", "--assignment", "assignment.json", "--out", "report"]) == 0
    page = Path("report/report.html").read_text("utf-8")
    assert "How much wider?" in page and "Week 3: Week 3" not in page


def test_site_and_course_package_bring_them_along(asked):
    listed = scorm.assigned(asked)
    assert [(one.lab.slug, one.stage) for one in listed] == [("lab_07_fusion", 2), (SLUG, 3)]
    packed = [name for name, _ in bundle._own_labs()]
    assert f"own_labs/0/{SLUG}/questions.toml" in packed and f"own_labs/0/{SLUG}/cells.py" in packed
    assert not any(name.startswith("ironlaw/") for name in packed)


LESS = {key: value for key, value in NUMBER.items() if key != "feedback"}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (LESS, "question 1: it has no feedback"), ({**NUMBER, "hint": "x"}, "key hint"), ({**NUMBER, "key": "196.0"}, "calls nothing"),
        ({**NUMBER, "key": 'hardware("nothing").bandwidth'}, "nothing"), ({**NUMBER, "key": "import os"}, "question 1"),
        ({**NUMBER, "key": '__import__("os").system("true")'}, "question 1"),
        ({**NUMBER, "asks": "It is {{ answer }}"}, "before the commit"),
        ({**NUMBER, "feedback": "{{ truth }}"}, "only slot"), ({**NUMBER, "feedback": "so\n## act9.reveal\nx"}, "##"),
        ({**NUMBER, "feedback": r"so $\frac{a}{$ it is"}, "cannot be read"), ({**NUMBER, "asks": "<b>How</b> much?"}, "the tag <b>"),
        ({**NUMBER, "premises": "![x](https://x.org/x.png)"}, "a picture"),
        ({**NUMBER, "title": "[x](javascript:x)"}, "link to javascript:x"),
        ({**NUMBER, "options": [*OPTIONS[:3], {"id": "x", "value": 10**400, "label": "x"}]}, "above 0"),
        ({**NUMBER, "options": [*OPTIONS[:3], {"id": "x", "value": 7, "label": "<i>x"}]}, "the tag <i>"),
        ({**NUMBER, "options": [{**OPTIONS[0], "misconception": "scale_underestimate"}, *OPTIONS[1:]]}, "mean scale_underestimated"),
        ({**NUMBER, "scale": "cubic"}, "cubic"), ({**NUMBER, "title": ""}, "its title"), ({**NUMBER, "options": OPTIONS[:3]}, "4 options"),
        ({**NUMBER, "options": [*OPTIONS[:3], OPTIONS[0]]}, "the same id"),
        ({**NUMBER, "options": [*OPTIONS[:3], {"id": "x"}]}, "no value, label"),
        ({**NUMBER, "options": [*OPTIONS[:3], {"id": "x", "value": -1, "label": "x"}]}, "above 0"),
        ({**NAME, "options": [{**one, "value": f"{one['value']}!"} for one in NAME["options"]]}, "0 options have"),
        ({**NUMBER, "key": 'hardware("h100_sxm").slug'}, "above 0"),
    ],
)  # fmt: skip
def test_a_wrong_question_says_what_is_wrong(question, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("labs.toml").write_text(toml(question), encoding="utf-8")
    assert main(["class", "assign", "labs.toml"]) == 2
    assert words in " ".join(capsys.readouterr().err.split()) and not Path("assignment.json").exists()


def test_markdown_and_formulas_may_have_angle_brackets():
    fine = "Is $a<b$ where `<b>` and a < b? See [this](https://x.org), <https://x.org> or **that**: $\\sqrt{x}$."
    assert assigned_questions.written([{**NUMBER, "asks": fine, "premises": fine}], "a < b", "x").acts == 1


def test_a_file_without_questions_is_named_and_the_other_labs_open(tmp_path, monkeypatch):
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "home"))
    for content in ("{}", "[]", "nonsense", json.dumps({"questions": {"slug": "../x", "questions.toml": "", "words.md": ""}})):
        (tmp_path / "a.json").write_text(content)
        monkeypatch.setenv(own_labs.VARIABLE, str(tmp_path / "a.json"))
        [lab] = own_labs.found()
        assert "is not an assignment with questions" in lab.fault
    assert not (tmp_path / "home").exists() or not list((tmp_path / "home").rglob("questions.toml"))
