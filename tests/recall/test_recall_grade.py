"""Answers as they are typed, right, wrong, and wrong in a known way."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.recall.card_answers import read
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_templates import templates as bank
from ironlaw.recall.card_variants import variant
from ironlaw.recall.grade import grade, grade_explanation, hint, parse_points


def test_a_number_within_the_tolerance_is_right():
    made = variant(template("ridge_point"), 1)
    for factor, right in ((1.0, True), (1.029, True), (0.971, True), (1.04, False), (0.5, False), (-1.0, False)):
        assert grade(made, str(made.key * factor)).correct is right
    assert grade(made, f"{made.key:.1f} FLOP/byte").correct


def test_units_count():
    made = next(m for m in (variant(template("weights_time"), s) for s in range(99)) if 1e-6 < m.key < 1e-3)
    assert grade(made, f"{made.key * 1e6} us").correct
    assert grade(made, f"{made.key * 1e3} ms").correct
    assert not grade(made, f"{made.key * 1e6} ms").correct
    with pytest.raises(BadValue, match="has no unit"):
        grade(made, str(made.key))
    with pytest.raises(BadValue, match="not a unit of this answer; type a number and a unit"):
        grade(made, "12 MB")


@pytest.mark.parametrize("name", sorted(name for name, found in bank().items() if found.kind == "numeric"))
def test_every_computed_mistake_is_recognised(name):
    """Whoever makes the mistake is told which it is; mistakes that can't be told apart share one of their names."""
    made = variant(template(name), 3)
    unit = "" if made.unit in ("", "%", "×", "FLOP/B", "OP/B") else made.unit
    for mistake in made.mistakes:
        graded = grade(made, f"{mistake.value!r} {unit if unit and read_ok(mistake.value, unit) else ''}".strip())
        near = {m.misconception for m in made.mistakes if abs(m.value - mistake.value) <= made.template.tolerance * abs(m.value)}
        assert not graded.correct and graded.misconception in near


def read_ok(value, unit):
    return read(f"{value!r} {unit}", unit)[0] == value


def test_a_wrong_number_that_no_belief_explains_names_none():
    made = variant(template("ridge_point"), 1)
    assert grade(made, str(made.key * 37)).misconception is None


def test_a_choice_is_a_letter():
    made = variant(template("fusion_pattern"), 0)
    for letter, choice in zip("abcd", made.choices, strict=True):
        graded = grade(made, letter.upper() + " ")
        assert graded.correct == (choice.id == made.key)
        assert graded.misconception == (None if graded.correct else choice.misconception or None)
        assert graded.answer == choice.label
    for bad in ("e", "", "ab", "1", "é"):
        with pytest.raises(BadValue, match="type a letter from a to d"):
            grade(made, bad)


def test_a_belief_can_depend_on_what_is_right():
    """Taking one kind of fusion for another shows no belief; fusing what stays apart does."""
    beliefs = {}
    for seed in range(60):
        made = variant(template("fusion_pattern"), seed)
        choice = next(choice for choice in made.choices if choice.id == "vertical")
        beliefs.setdefault(made.key, set()).add(choice.misconception)
    assert beliefs == {"apart": {"fusion_always_helps"}, "pointwise": {""}, "epilogue": {""}, "vertical": {""}}


def test_computed_choices_name_their_mistake():
    made = variant(template("precision_intensity"), 2)
    for letter, choice in zip("abc", made.choices, strict=True):
        assert grade(made, letter).misconception == (choice.misconception or None)
    assert sum(grade(made, letter).correct for letter in "abc") == 1


def letters(made, ids):
    return [next(letter for letter, choice in zip("abcdef", made.choices, strict=False) if choice.id == name) for name in ids]


def test_an_order_is_all_letters():
    made = variant(template("ladder_order"), 0)
    right = letters(made, made.key)
    for text in (" ".join(right), "".join(right), ",".join(right), " < ".join(right).upper()):
        assert grade(made, text).correct
    wrong = grade(made, " ".join(letters(made, made.mistaken)))
    assert (wrong.correct, wrong.misconception) == (False, "capacity_is_rate")
    other = [right[1], right[0], *right[2:]]
    assert (grade(made, "".join(other)).correct, grade(made, "".join(other)).misconception) in ((False, None), (False, "capacity_is_rate"))
    for bad in ("a b c", "a a b c d", "abcde", "", "1 2 3 4"):
        with pytest.raises(BadValue, match="smallest first"):
            grade(made, bad)


def test_an_explanation_is_graded_against_its_points():
    made = variant(template("trace_or_script"), 0)
    assert made.template.enough == len(made.rubric) - 1 == 2
    assert [grade_explanation(made, set(range(1, n + 1))).correct for n in range(4)] == [False, False, True, True]
    assert grade_explanation(made, {1, 3}).answer == "2 of 3 points"
    with pytest.raises(BadValue, match="from 1 to 3"):
        grade_explanation(made, {4})
    with pytest.raises(BadValue, match="say which"):
        grade(made, "because")


def test_points_are_typed_as_numbers():
    assert [parse_points(text, 3) for text in ("1 3", "1,3", "all", "None", "0", "2")] == [{1, 3}, {1, 3}, {1, 2, 3}, set(), set(), {2}]
    for bad in ("", "4", "x", "1-3", "-1"):
        with pytest.raises(BadValue, match="from 1 to 3, or all, or none"):
            parse_points(bad, 3)


def test_the_hint_fits_the_kind():
    told = {name: hint(variant(template(name), 0)) for name in ("ridge_point", "relu_regime", "ladder_order", "trace_or_script")}
    assert told["ridge_point"] == "a number, such as 7; within 3% counts as right" and told["relu_regime"] == "a or b"
    assert "such as a b c d. No two are within" in told["ladder_order"] and "own words" in told["trace_or_script"]
