"""Nothing but the subject tells the right option: over all questions of the course, its length is as good as drawn by lot."""

import pytest

from ironlaw.kit import question_sheet
from ironlaw.kit.lab import LABS
from ironlaw.kit.option_tells import LIMIT, RANKS, rank_counts, tells, unevenness

SHEETS = {path.parent.name: question_sheet.load(path) for path in sorted(LABS.glob("lab_*/questions.toml"))}
QUESTIONS = [question for sheet in SHEETS.values() for question in sheet.questions.values()]


def made(*labels, right=0):
    options = tuple(question_sheet.Option(str(i), float(i), label) for i, label in enumerate(labels))
    return question_sheet.Question("q", "prediction", f"max({right}, 0)", options)


@pytest.mark.parametrize("slug", SHEETS)
def test_no_option_stands_out(slug):
    faults = [f"{slug} [{question.name}]: {fault}" for question in SHEETS[slug].questions.values() for fault in tells(question)]
    assert faults == []


def test_the_right_option_is_neither_the_longest_nor_the_shortest_too_often():
    counts = rank_counts(q for q in QUESTIONS if len(q.options) == RANKS and not q.personal)
    assert sum(counts) > 70, "the whole course"
    assert unevenness(counts) < LIMIT, f"the right option is the shortest, second, third, longest {counts} times; reword some"


def test_a_long_option_and_a_lonely_reason_are_found():
    assert list(tells(made("2×", "30×", "Can't tell", "1,000×"))) == []  # short ones may differ
    (long,) = tells(made("It stays.", "It falls, since half of them are served sooner.", "It rises.", "It depends."))
    assert "option '1' has 47 characters and '0' 9" in long
    (reason,) = tells(made("Memory: too small", "The batch, too small", "The bubble, too long", "The NICs, too slow"))
    assert reason.startswith("only 0 of its options has a colon")


def test_a_course_in_which_the_longest_is_right_is_found():
    labels = ("one", "longer", "even longer", "the longest")
    assert unevenness(rank_counts([made(*labels, right=3)] * 20)) > LIMIT
    assert unevenness(rank_counts(made(*labels, right=i % 4) for i in range(20))) == 0
    assert rank_counts([made("aa", "aa", "bbb", "c", right=0)]) == [0, 0.5, 0.5, 0]  # a tie shares its ranks
