"""Act II of every lab is a task: it says so, it can be done from where the act opens, and a design that fails never has a tick."""

import random

import pytest
from acts import VOLUME_1
from acts_v2 import VOLUME_2
from headless import Page, bare
from how_thorough import RELEASE
from ledger_at_hand import open_ledger

from ironlaw.kit.goal import Aim
from ironlaw.kit.goal_search import stops
from ironlaw.kit.hint import RUNGS, answer, asked_at
from ironlaw.kit.hud import FAILS, MEETS
from ironlaw.kit.instrument import stand

SLUGS = [lab.slug for lab in (*VOLUME_1, *VOLUME_2)]
# the opening state, and before a release three at random
STARTS = (None, 1, 2, 3) if RELEASE else (None,)
CURES = ("What would fix it", "What would do", "turn two", "no single dial")


@pytest.fixture(scope="module", params=SLUGS)
def page(request, completed, tmp_path_factory):
    with open_ledger(completed(request.param, tmp_path_factory.mktemp("goals"))) as ledger:
        yield Page(ledger, request.param)


@pytest.fixture
def aim(page) -> Aim:
    (only,) = page.lab.aims.values()
    return only


def elsewhere(aim: Aim, seed: int) -> dict:
    """The learner's own dials at random, each where it can stand; the premises stay."""
    values, dice = aim.values, random.Random(seed)
    for name in aim.goal.turns:
        dial = next(dial for dial in aim.dials(values) if dial["id"] == name)
        _, values, _ = stand(aim.dials, {**values, name: dice.choice([values[name], *stops(dial, values[name])])})
    return values


def test_act_ii_sets_a_task(page, aim):
    act = aim.name.partition(".")[0]
    assert bare(aim.task).startswith("Your task: ") and "{{" not in aim.task
    assert bare(page.parts[f"{'act2' if act == 'act2' else act.removeprefix('act2_')}_message"].text).endswith(bare(aim.task))
    assert page.piece(f"{aim.name}.instrument").spec["task"] == aim.task
    assert "Design" in {place.label for place in page.lab.places if place.act == act}
    assert set(aim.goal.turns) <= {dial["id"] for dial in aim.dials({})}


@pytest.mark.parametrize("seed", STARTS)
def test_the_goal_is_reached_through_the_dials(aim, seed):
    start = aim.values if seed is None else elsewhere(aim, seed)
    way = aim.nearest(start)
    assert way is not None
    _, standing, refusals = stand(aim.dials, way)
    assert refusals == {} and aim.goal.broken(aim.lab, standing) is None and aim.banner(standing)["tone"] == "good"


@pytest.mark.parametrize("seed", STARTS)
def test_a_design_that_fails_has_no_tick(aim, seed):
    values = aim.values if seed is None else elsewhere(aim, seed)
    limit, banner = aim.goal.broken(aim.lab, values), aim.banner(values)
    assert (banner["tone"] == "good") == (limit is None)
    assert [words for words in CURES if words in bare(banner["text"])] == []


def test_help_comes_in_three_rungs_and_is_written_down(page, aim):
    lab = page.lab
    if aim.goal.broken(lab, aim.values) is None:  # nothing is recorded where everything holds
        before = len(lab.ledger.events(lab.slug, "hint"))
        view = page.send(f"{aim.name.partition('.')[0]}.hint", act=1, rung=1)
        assert "meets the goal" in view["feedback"] and len(lab.ledger.events(lab.slug, "hint")) == before
        return
    repaired = asked_at(aim, aim.values, 2)
    assert len(repaired["turns"]) <= 1 or any(dial.get("hidden") for dial in aim.dials(aim.values))
    for rung in range(1, len(RUNGS) + 1):
        asked = asked_at(aim, aim.values, rung)
        assert asked["rung"] == rung and asked["limit"] == aim.goal.broken(lab, aim.values).name and answer(aim, asked)
    assert aim.goal.broken(lab, {**aim.values, **asked["turns"]}) is None and "data-dials" in answer(aim, asked)


def test_the_bar_keeps_prediction_and_design_apart(page, aim):
    text = bare(page.parts["hud"].text)
    meets = aim.design.meets
    assert "missed" not in text and (MEETS in text) == meets and (FAILS in text) != meets
