"""Keys that read the ledger: bound to one learner, and as the ledger stood when the question was committed."""

from pathlib import Path

import pytest

from ironlaw.errors import BadRegistry, BadValue
from ironlaw.kit.learner_keys import bound
from ironlaw.kit.question_sheet import load
from ironlaw.recall.standing import EVERY, FEWEST, NOBODY, SURE_ONES

LAB = "lab_90_asking"
TEXT = """
[act1]
kind = "prediction"
reads = "ledger"
scale = "linear"
key = 'standing.share(chance)'
options = [{ id = "a", value = 0.25 }, { id = "b", value = 0.5 }, { id = "c", value = 0.75 }, { id = "d", value = 0.9 }]

[act2]
kind = "prediction"
reads = "ledger"
key = 'designs["lab_01_magnitude"]["kind"] if len(designs) else "none"'
options = [{ id = "none", value = "none" }, { id = "x", value = "x" }, { id = "y", value = "y" }, { id = "z", value = "z" }]
"""


@pytest.fixture
def sheet(tmp_path):
    def made(text=TEXT):
        path = Path(tmp_path) / "questions.toml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return made


def answer(ledger, lab, right, confidence=5):
    ledger.commit_prediction(lab, "act1", "a", 1.0, confidence, right, 1)


def test_without_a_ledger_there_is_no_answer(sheet):
    with pytest.raises(BadValue, match="each learner's own"):
        _ = sheet().questions["act1"].answer
    with pytest.raises(BadRegistry, match="reads"):
        sheet(TEXT.replace('reads = "ledger"', 'reads = "mind"'))


def test_a_key_follows_the_learner(sheet, ledger):
    question = bound(sheet(), ledger, LAB).questions["act1"]
    names = question.learner
    assert names()["standing"].basis == NOBODY and question.answer == 0.25 and question.right.id == "a"
    answer(ledger, "lab_91_one", True, 2)
    assert names()["standing"].basis == EVERY and question.answer == 1 and question.right.id == "d"
    for i in range(FEWEST):
        answer(ledger, f"lab_{i}_more", i % 2 == 0)
    assert names()["standing"].basis == SURE_ONES and question.answer == 0.5  # the unsure one is left out
    answer(ledger, LAB, True)
    assert question.answer == 0.5  # the lab's own answer does not count


def test_what_comes_after_the_commit_changes_nothing(sheet, ledger):
    questions = bound(sheet(), ledger, LAB).questions
    answer(ledger, "lab_91_one", False)
    ledger.append("lab_01_magnitude", "design", {"kind": "x"})
    assert questions["act2"].answer == "x" and questions["act1"].answer == 0
    ledger.commit_prediction(LAB, "act1", "d", 0.9, 4, False, 1)
    ledger.commit_prediction(LAB, "act2", "x", "x", 4, True, 1)
    answer(ledger, "lab_92_two", True)
    ledger.append("lab_01_magnitude", "design", {"kind": "y"})
    for asked in (questions, bound(sheet(), ledger, LAB).questions):
        assert asked["act1"].answer == 0 and asked["act2"].answer == "x"


def test_half_way_between_two_options_the_lower_one_is_right(sheet, ledger):
    for i in range(FEWEST):
        answer(ledger, f"lab_{i}_more", i < 3)  # 3 of 8: as far from a quarter as from a half
    assert bound(sheet(), ledger, LAB).questions["act1"].right.id == "a"
