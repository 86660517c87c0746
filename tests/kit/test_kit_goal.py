"""A goal and its help: rungs in order, each written down with the dials it was asked at; and the search behind them, on a made-up box."""

from functools import cache

import pytest
from as_browser import send

from ironlaw.kit import hint as hints
from ironlaw.kit.banner import banner
from ironlaw.kit.goal import Aim, Goal
from ironlaw.kit.instrument import Instrument, View
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.widget import dials

LIMITS = (
    fail("full", "It is full", lambda box: box["size"] < 4),
    warn("slow", "It is slow", lambda box: not box["fast"] and box["size"] > 2),
    good("works", "It works"),
)


def box(_):
    return [dials.span("size", "Size", 1, 8, 1), dials.switch("fast", "Fast"), dials.switch("paint", "Paint")]


def view(values):
    limit = hit(LIMITS, values)
    return View(banner=banner(limit.tone, limit.title, f"<p>size {values['size']}</p>"))


@pytest.fixture
def aim(lab):
    lab.instruments["act1"] = Instrument("act1", "T", box, view)
    return Aim(lab, "act1", Goal(lambda lab, values: values, LIMITS, ("size", "fast")), "Your task: a box that works.")


def stand_at(aim, **values):
    aim.lab.instruments["act1"].load(values, "")


def test_rungs_open_one_after_the_other_and_are_written_down(aim):
    asked = []
    piece = hints.hint(aim, lambda: asked.append(1))
    assert piece.view["asked"] == 0 and piece.view["open"] == 1 and not hints.hints(aim.lab.ledger, aim.lab.slug, "act1")
    first = send(piece, act=1, rung=3)  # not open yet: the first is answered
    assert "It is full" in first["feedback"] and "One dial drives it, “Size”" in first["feedback"] and first["open"] == 2
    second = send(piece, act=2, rung=2)
    assert "Size: 4" in second["feedback"] and "leaves another limit. <b>It is slow</b>" in second["feedback"]
    third = send(piece, act=3, rung=3)
    assert "Fast: on" in third["feedback"] and "every limit holds" in third["feedback"] and "fast=true" in third["feedback"]
    events = [event.payload for event in hints.hints(aim.lab.ledger, aim.lab.slug, "act1")]
    assert [(e["rung"], e["limit"], e["turns"]) for e in events] == [
        (1, "full", {}), (2, "full", {"size": 4}), (3, "full", {"size": 4, "fast": True})
    ]  # fmt: skip
    assert events[0]["dials"] == {"size": 1, "fast": False, "paint": False} and len(asked) == 3


def test_where_the_goal_is_met_nothing_is_written(aim):
    stand_at(aim, size=4, fast=True)
    assert "no help was recorded" in send(hints.hint(aim, list), act=1, rung=1)["feedback"]
    assert not hints.hints(aim.lab.ledger, aim.lab.slug, "act1") and aim.design.meets and aim.design.built == "Size:\u00a04; Fast:\u00a0on"


def test_a_locked_instrument_has_no_help(lab):
    piece = hints.hint(Aim(lab, "act2", Goal(lambda lab, values: values, LIMITS, ("size",))), list)
    assert "not open yet" in send(piece, act=1, rung=1)["error"]["message"] and not hints.hints(lab.ledger, lab.slug, "act2")


def test_what_was_prepared_is_not_computed_again(aim):
    """A slow goal keeps what it computed; after preparing, no rung asks for anything new."""
    judged = []

    @cache
    def weigh(size, fast):
        judged.append((size, fast))
        return {"size": size, "fast": fast}

    slow = Aim(aim.lab, "act1", Goal(lambda lab, values: weigh(values["size"], values["fast"]), LIMITS, ("size", "fast"), ahead=True))
    hints.prepare(slow)
    before = len(judged)
    for rung in (1, 2, 3):
        hints.answer(slow, hints.asked_at(slow, slow.values, rung))
    assert before == len(judged) > 3
    assert not hints.hints(aim.lab.ledger, aim.lab.slug, "act1")  # nobody asked


def test_a_limit_that_one_turn_lifts_and_one_that_takes_two(aim):
    both = (fail("both", "It needs both", lambda box: not (box["fast"] and box["size"] == 8)), good("works", "It works"))
    needy = Aim(aim.lab, "act1", Goal(lambda lab, values: values, both, ("size", "fast")))
    assert needy.search().movers({"size": 1, "fast": False, "paint": False}) == [] and needy.search().repair(needy.values) is None
    assert needy.nearest(needy.values) == {"size": 8, "fast": True, "paint": False}
    stand_at(aim, size=8)
    assert aim.search().movers(aim.values) == ["fast"]
    assert needy.search().repair(needy.values).value is True


def test_a_dial_that_repairs_at_one_stop_only_is_named(aim):
    narrow = (fail("narrow", "Only four will do", lambda box: box["size"] != 4), good("works", "It works"))
    search = Aim(aim.lab, "act1", Goal(lambda lab, values: values, narrow, ("size", "fast"))).search()
    start = {"size": 1, "fast": False, "paint": False}
    assert search.repair(start).value == 4 and search.movers(start) == ["size"]


def test_the_nearest_design_turns_no_more_than_it_needs_and_no_premise(aim):
    assert aim.nearest({"size": 6, "fast": False, "paint": True}) == {"size": 6, "fast": True, "paint": True}
    painted = (fail("bare", "It is bare", lambda box: not box["paint"]), good("works", "It works"))
    assert Aim(aim.lab, "act1", Goal(lambda lab, values: values, painted, ("size", "fast"))).nearest(aim.values) is None


def test_an_answer_of_an_earlier_version_is_still_read(aim):
    aim.lab.ledger.append(aim.lab.slug, "hint", {"question": "act1", "dials": aim.values, "turns": {"size": 4}})
    shown = hints.hint(aim, list).view
    assert shown["asked"] == 1 and shown["open"] == 3 and "Set these dials" in shown["feedback"]


def test_a_banner_never_calls_good_what_the_goal_does_not(aim, monkeypatch):
    monkeypatch.setattr(aim.lab, "fill", lambda name: {"act1.slow": "It takes long."}[name])
    judged = aim.judging(lambda values: View(banner=banner("good", "It works", "<p>Own.</p>")), "act1")
    seen = judged({"size": 5, "fast": False, "paint": False}).banner
    assert (seen["tone"], seen["title"]) == ("warn", "It is slow") and "Own." in seen["text"] and "It takes long." in seen["text"]
    assert judged({"size": 5, "fast": True, "paint": False}).banner["tone"] == "good"
