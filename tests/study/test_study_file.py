"""What a study file may say, and how it is refused."""

from __future__ import annotations

from collections import Counter

import pytest

from ironlaw.errors import BadValue, IronlawError, UnknownName
from ironlaw.studies.study_file import read_study, study
from ironlaw.studies.study_rows import key

OVER = {"model": "gpt2", "hardware": ["h100", "t4"]}


def grid(**over):
    return study({"study": {"question": "predict"}, "over": OVER | over})


def random(points, seed=0, **over):
    return study({"study": {"question": "predict", "search": "random", "points": points, "seed": seed}, "over": OVER | over})


def batches(given):
    return [point["batch"] for point in grid(hardware="t4", batch=given)]


def test_a_grid_is_every_combination_once():
    points = list(grid(batch=[1, 2, 4], mode=["eager", "compiled"]))
    assert len(points) == 2 * 3 * 2 == grid(batch=[1, 2, 4], mode=["eager", "compiled"]).points
    assert len({tuple(point.values()) for point in points}) == 12
    assert {point["hardware"] for point in points} == {"h100_sxm", "t4"} and all(point["seq"] is None for point in points)


def test_two_spellings_are_one_value():
    assert grid(hardware=["h100", "H100-SXM", "h100_sxm"]).points == 1


def test_ranges_step_add_multiply_or_count():
    assert batches({"from": 1, "to": 64, "times": 2}) == [1, 2, 4, 8, 16, 32, 64]
    assert batches({"from": 2, "to": 11, "step": 3}) == [2, 5, 8, 11]
    assert batches({"from": 1, "to": 9, "count": 5}) == [1, 3, 5, 7, 9]
    assert batches({"from": 1, "to": 1000, "count": 4, "log": True}) == [1, 10, 100, 1000]
    assert batches({"from": 1, "to": 3, "count": 9}) == [1, 2, 3]  # whole numbers, each once
    assert batches({"from": 5, "to": 5, "times": 2}) == [5]


def test_a_random_search_differs_by_seed_and_keeps_its_beginning():
    wide = {"from": 1, "to": 4096, "log": True}
    few, many = (list(random(n, batch=wide, seq={"from": 1, "to": 1000})) for n in (20, 60))
    assert many[:20] == few and len({tuple(point.values()) for point in many}) == 60
    assert list(random(20, 1, batch=wide)) != list(random(20, 2, batch=wide))
    drawn = [point["batch"] for point in many]
    assert min(drawn) >= 1 and max(drawn) <= 4096
    assert sum(n <= 64 for n in drawn) == pytest.approx(30, abs=12)  # half of them, evenly in the logarithm


def test_a_range_of_whole_numbers_reaches_both_ends_evenly():
    points = random(400, batch={"from": 1, "to": 4}, seq={"from": 1, "to": 1000})
    counts = Counter(point["batch"] for point in points)
    assert set(counts) == {1, 2, 3, 4} and min(counts.values()) > 70


def test_a_random_search_can_take_all_there_are():
    assert len(list(random(6, batch=[1, 2, 3]))) == 6


def test_a_key_is_the_parameters_and_the_version():
    from dataclasses import replace

    made = grid(batch=[1, 2])
    keys = [key(made.question, point) for point in made]
    assert len(set(keys)) == 4
    first = next(iter(made))
    assert key(made.question, dict(reversed(first.items()))) == keys[0]
    assert key(replace(made.question, version=2), first) != keys[0]
    assert key(grid(batch=[1, 2], mode="eager").question, first) == keys[0]  # a default that is spelt out


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"modle": "gpt2"}, "did you mean mode"),
        ({"hardware": ["h1000"]}, "did you mean h100"),
        ({"model": "gpt3"}, "did you mean gpt2"),
        ({"mode": "eagre"}, "did you mean eager"),
        ({"dtype": "fp61"}, "did you mean fp64, fp16"),
        ({"batch": []}, "batch has an empty list"),
        ({"batch": [0]}, "batch: 0 is out of range; give a whole number from 1"),
        ({"batch": [1.5]}, "batch: 1.5 is not a whole number"),
        ({"batch": [True]}, "batch: True is not a whole number"),
        ({"model": 3}, "model: 3 is not a name; write one in quotes"),
        ({"model": {"from": 1, "to": 2}}, "model is not a number"),
        ({"batch": {"to": 8, "times": 2}}, "the range of batch has no from"),
        ({"batch": {"from": 8}}, "the range of batch has no to"),
        ({"batch": {"from": 1, "too": 8}}, "did you mean to"),
        ({"batch": {"from": 8, "to": 1, "step": 1}}, "give the lower end first"),
        ({"batch": {"from": 1, "to": 8}}, "does not say how it steps; add step, times or count"),
        ({"batch": {"from": 1, "to": 8, "step": 1, "count": 3}}, "keep one of them"),
        ({"batch": {"from": 1, "to": 8, "times": 1}}, "give a number above 1"),
        ({"batch": {"from": 1, "to": 8, "times": 1 + 1e-12}}, "give a larger times"),
        ({"batch": {"from": 1, "to": 8, "step": 0}}, "batch: 0 is out"),
        ({"batch": {"from": 1, "to": 8, "count": 1}}, "from 2 to"),
    ],
)
def test_values_that_cannot_be(over, words):
    with pytest.raises(IronlawError, match=words):
        grid(**over)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({}, r"\[study\] has no question"),
        ({"question": "pedict"}, "did you mean predict"),
        ({"question": "predict", "serach": "grid"}, "did you mean search"),
        ({"question": "predict", "search": "rndom"}, "did you mean random"),
        ({"question": "predict", "points": 3}, "points are for search"),
        ({"question": "predict", "search": "random"}, "say how many to draw"),
        ({"question": "predict", "search": "random", "points": 3}, "only 2 points differ"),
        ({"question": "predict", "seed": "x"}, "seed is 'x'"),
    ],
)
def test_a_head_that_cannot_be(head, words):
    with pytest.raises(IronlawError, match=words):
        study({"study": head, "over": OVER})


def test_what_is_missing_is_named():
    with pytest.raises(BadValue, match=r"needs hardware .*add `hardware = …` to \[over\]"):
        study({"study": {"question": "predict"}, "over": {"model": "gpt2"}})
    with pytest.raises(BadValue, match=r"no table \[over\]"):
        study({"study": {"question": "predict"}})
    with pytest.raises(UnknownName, match="did you mean over"):
        study({"study": {"question": "predict"}, "over": OVER, "ovr": {}})


def test_too_many_points_are_refused_with_their_number(tmp_path):
    with pytest.raises(BadValue, match=r"200,000 points, more than 100,000; .*--most 200000"):
        grid(batch={"from": 1, "to": 100_000, "step": 1})
    assert (
        study({"study": {"question": "predict"}, "over": OVER | {"batch": {"from": 1, "to": 100_000, "step": 1}}}, 200_000).points
        == 200_000
    )


def test_a_bad_file_is_named(tmp_path):
    place = tmp_path / "s.toml"
    with pytest.raises(BadValue, match="there is no file"):
        read_study(place)
    place.write_text("[study\n")
    with pytest.raises(BadValue, match=r"s\.toml: .*fix the TOML"):
        read_study(place)
    place.write_text('[study]\nquestion = "predict"\n[over]\nmodel = "gpt9"\nhardware = "t4"\n')
    with pytest.raises(UnknownName, match=r"s\.toml: no model 'gpt9'"):
        read_study(place)


def test_the_file_of_the_documentation_is_one():
    import re
    import tomllib
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", text, flags=re.DOTALL)[1]
    assert study(tomllib.loads(example)).points == 2 * 4 * 5 * 2
    assert study(tomllib.loads(example.replace("# search", "search").replace("# points = 500", "points = 50"))).points == 50
    from ironlaw.studies.study_questions import QUESTIONS

    assert set(re.findall(r"^\| `(\w+)` \| a", text, flags=re.MULTILINE)) == set(QUESTIONS)
    from ironlaw.studies import study_file

    assert study(tomllib.loads(study_file.__doc__.partition("\n\n")[2])).points == 10


def test_draws_that_hardly_differ_are_refused(monkeypatch):
    monkeypatch.setattr("ironlaw.studies.study_file.DRAWS", 1)
    with pytest.raises(BadValue, match=r"40 draws gave only \d+ different points"):
        list(random(40, batch={"from": 1, "to": 20}))
