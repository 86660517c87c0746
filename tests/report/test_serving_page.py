"""The answer of `ironlaw capacity`, in words and as a page: what to bet on, what ties with it, and how the picture shows both."""

from typing import Any

import pytest

from ironlaw.report.serving_page import _pareto
from ironlaw.report.serving_words import likely, ranked, standing, sure_number, tied, verdict
from ironlaw.systems.serving.search.bet import bet

ONE = {"tensor": 1, "stages": 1, "groups": 1, "whole_experts": False}


def choice(slug: str, devices: int, sure: int | None, price: float | None, basis: str = "transferred", **more: Any) -> Any:
    safe = None if sure is None else {"devices": sure, "replicas": sure, "prompts": 0, "layout": ONE, "budget": 512, "command": ""}
    return {
        "hardware": slug, "devices": devices, "safe": safe, "basis": basis, "layout": ONE, "budget": 512, "pools": None,
        "tokens_per_s": 100.0,
        "dollars_per_hour": None if price is None else devices * price, "dollars_per_million_tokens": price,
        "largest_rate": 10.0, "between": {"largest_rate": [5.0, 12.0]}, "tpot_s": {"p50": 0.02}, **more,
    }  # fmt: skip


def answered(*rows: Any, fleet: int | None = None) -> Any:
    return {"choices": list(rows), "fleet": fleet, "answer": bet(rows, fleet is not None), "promise": {"tpot_s": None, "tbt_s": 0.05}}


def test_the_cheapest_of_those_that_are_sure_is_the_answer_and_what_may_be_as_cheap_ties():
    doubtful, sound, dear = choice("a", 4, None, 1.0), choice("b", 4, 4, 2.0, "calibrated"), choice("c", 2, 3, 5.0)
    may = choice("d", 2, 6, 4.0)
    told = answered(doubtful, sound, dear, may)
    assert told["answer"] == {"hardware": "b", "devices": 4, "sure": True, "by": "dollars", "ties": ["a", "d"]}
    assert [row["hardware"] for row in ranked(told)] == ["b", "a", "d", "c"]
    assert [standing(told, row) for row in told["choices"]] == ["tie", "answer", "", "tie"] and sure_number(doubtful) == "?"
    assert verdict(told).startswith("Plan 4 × b (1 device), at $8 per hour") and "even if steps take as long as they may" in verdict(told)
    assert "4 × a ($4 per hour, sure at no number that we tried); 2 × d ($8 per hour, 6 to be sure)" in tied(told)


def test_more_devices_are_planned_where_it_takes_more_to_be_sure():
    told = answered(choice("a", 4, 8, 1.5))
    assert told["answer"]["devices"] == 8 and tied(told) == ""
    assert verdict(told).startswith("Plan 8 × a (1 device), $12 per hour. 4 × a (1 device) should meet the SLO, at $6 per hour")


@pytest.mark.parametrize(("basis", "words"), [("transferred", "no number that we tried does"), ("bound", "Only the datasheet is known")])
def test_where_none_is_sure_the_answer_says_so(basis, words):
    told = answered(choice("a", 4, None, 1.0, basis), choice("b", 4, None, 2.0, basis))
    assert told["answer"]["hardware"] == "a" and not told["answer"]["sure"] and words in verdict(told)


def test_without_prices_the_fewest_devices_are_the_answer_and_some_prices_leave_the_others_out():
    rows = choice("a", 4, 4, None), choice("b", 2, 3, None)
    assert answered(*rows)["answer"] == {"hardware": "b", "devices": 3, "sure": True, "by": "devices", "ties": []}
    assert answered(*rows, choice("c", 8, 8, 1.0))["answer"]["hardware"] == "c"


def test_of_a_fleet_the_larger_rate_that_is_sure():
    wide = choice("a", 8, None, 1.0, largest_rate=20.0, between={"largest_rate": [2.0, 40.0]})
    sure = choice("b", 8, None, 1.0, largest_rate=15.0, between={"largest_rate": [12.0, 16.0]})
    told = answered(wide, sure, fleet=8)
    assert (told["answer"]["hardware"], told["answer"]["ties"]) == ("b", ["a"])
    times = {"ttft": [0.1, 0.2], "tbt": [0.01, 0.02], "devices": [8.0, 8.0]}
    promise = {"share": 0.99, "tbt_s": 0.05}
    assert likely({**wide, "between": times}, promise, True) == "Likely P99 TTFT 100 ms to 200 ms, TBT 10 ms to 20 ms."
    assert verdict(told) == "8 × b take the largest rate, 15 requests/s (likely 12 to 16)." and "8 × a with 20 requests/s" in tied(told)


def test_the_picture_names_each_line_at_its_fast_end_and_shows_the_limit_and_the_answer():
    points = [
        {
            "hardware": slug, "tokens_per_s_user": user, "tokens_per_s_each": each, "layout": ONE, "pools": "together", "batch": 1,
        }
        for slug, pairs in {"b": ((90.0, 10.0), (15.0, 200.0)), "x": ((60.0, 9.0), (12.0, 150.0))}.items() for user, each in pairs
    ]  # fmt: skip
    figure = _pareto({**answered(choice("b", 4, 4, 2.0)), "pareto": points})
    ends = {dict(mark.more)["end"]: mark.points[-1] for mark in figure.marks if mark.type == "line"}
    assert ends == {"b": (90.0, 10.0), "x": (60.0, 9.0)}
    assert [dict(mark.at)["x"] for mark in figure.marks if mark.type == "rule"] == [pytest.approx(20.0)]
    assert [mark.label for mark in figure.marks if mark.label and mark.type == "point"] == ["this load"]
