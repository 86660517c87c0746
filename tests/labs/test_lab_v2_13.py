"""Lab V2-13 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

import itertools
from dataclasses import replace

import measured
import pytest
from headless import cards, figure

from ironlaw import claims
from ironlaw.engine.privacy.accountants import ACCOUNTANTS, BOUNDS, epsilon
from ironlaw.engine.privacy.attacks import accuracy
from ironlaw.labs.lab_v2_13_privacy import runs
from ironlaw.labs.lab_v2_13_privacy.act1 import run as first
from ironlaw.labs.lab_v2_13_privacy.act2 import plan
from ironlaw.labs.lab_v2_13_privacy.act2.plan import Plan
from ironlaw.measure.rows import figure_row
from ironlaw.registry.private_runs import private_run
from ironlaw.registry.publications import published
from ironlaw.systems.fields import parameter

SLUG = "lab_v2_13_privacy"
SAID = {"act1": "always", "act1_reflection": "neither", "act2": "tuning"}
FIVE = [223.49, 16.844, 1.2586, 1.0355, 0.9424]


# --- Act I


def test_the_story(bench):
    view = bench.piece("act1.instrument").view
    shown = cards(view)
    assert shown["ε"] == "1.04" and shown["Steps"] == "10,000" and shown["Sampling rate"] == "1%"
    assert shown["Correct guesses, at most"] == "73.8%"
    budgets = figure(view, "budgets")
    points = {mark["name"]: mark["x"] for mark in budgets["marks"] if mark["type"] == "point"}
    assert [points[runs.ACCOUNTANTS[name]] for name in ACCOUNTANTS] == pytest.approx(FIVE, rel=1e-4)
    assert points[runs.REFERENCE] == 0.947
    guesses = figure(view, "guesses")["marks"]
    rules = {mark["id"]: mark["x"] for mark in guesses if mark["type"] == "rule"}
    assert rules == {"prediction": 100, "truth": pytest.approx(55.05, abs=0.05)}  # Φ(0.254 / 2)
    shares = {mark["name"]: mark["x"] for mark in guesses if mark["type"] == "point"}
    assert shares["the noise itself"] == pytest.approx(rules["truth"]) and shares[runs.ACCOUNTANTS["rdp"]] == pytest.approx(73.8, abs=0.05)
    assert not [mark for mark in figure(bench.turn("act1", noise=2.0), "guesses")["marks"] if mark["type"] == "rule"]


def test_the_limit_is_marked_as_no_bound(bench):
    start = bench.start("act1")
    view = bench.turn("act1", **{**start, "accountant": "gdp"})
    assert bench.shows("act1.limit", view["note"]) and "not a bound" in view["formula"]
    marks = [mark for mark in figure(view, "budgets")["marks"] if mark["type"] == "point"]
    assert [mark["name"] for mark in marks if mark.get("hollow")] == [runs.ACCOUNTANTS["gdp"]]


def test_no_bound_is_below_googles_accountant():
    for row in published("pld_accountant").where():
        run = (row["batch"] / row["records"], row["noise"], row["steps"], row["delta"])
        assert runs.reference(*run) == row["epsilon"]
        assert min(runs.spent(*run, name) for name in BOUNDS) > row["epsilon"] > runs.spent(*run, "gdp")
    assert runs.reference(0.01, 4.0, 5_000, 1e-5) is None


def test_the_attack_is_the_bound_of_the_accountant(bench):
    one = first.Run(1_000, 10, alarms=0.25)
    assert one.attack == pytest.approx(accuracy(epsilon(0.01, 4, 10_000, 1e-5), 1e-5))
    assert first.Run(1_000, 5_000).rate == 1 and first.Run(1_000, 10).steps == 10_000
    attack = figure(bench.piece("act1.instrument").view, "attack")
    corner = next(mark for mark in attack["marks"] if mark["id"] == "corner")
    assert 100 - (corner["x"] + corner["y"]) / 2 == pytest.approx(100 * accuracy(epsilon(0.01, 4, 10_000, 1e-5), 1e-5), abs=1e-6)


# --- Act II

# state -> (a setting that shows it, the same with one dial turned)
QUIET = {"rate": 0.16, "noise": 4.0, "clip": 0.3, "speed": 10.0, "epochs": 30, "runs": 1}


def stops(name):
    return parameter(Plan, name).stops


def test_the_budget_counts_every_run():
    one = Plan(noise=2.0, runs=5)
    assert one.epsilon == pytest.approx(epsilon(0.04, 2.0, 1_250, 1e-4)) and one.alone == pytest.approx(epsilon(0.04, 2.0, 250, 1e-4))
    assert replace(one, clip=3.0, speed=30.0).epsilon == one.epsilon < replace(one, rate=0.16).epsilon


def test_many_records_share_the_noise():
    """The spec's own proof: at 60,000 records and noise 2 within three points of training without noise."""
    loud = max(private_run(60_000, 0.01, 2.0, clip, 30.0, 30).accuracy for clip in stops("clip"))
    assert private_run(60_000, 0.01, 0.0, float("inf"), 30.0, 30).accuracy - loud < 0.03
    assert Plan(records=60_000).ratio == pytest.approx(60 * Plan().ratio, rel=0.05)


def test_the_front_is_not_beaten():
    best = plan.front(1_000, 1, 1e-4, "rdp")
    assert [accuracy for _, accuracy in best] == sorted(accuracy for _, accuracy in best)
    for clip, speed, noise in itertools.product(stops("clip"), stops("speed"), stops("noise")):
        one = Plan(clip=clip, speed=speed, noise=noise, runs=1)
        assert any(cost <= one.epsilon + 1e-12 and right >= one.trained.accuracy for cost, right in best)


def test_what_is_said_of_odd_settings_and_of_what_was_trained(bench):
    assert bench.shows("act1.whole_batch", bench.turn("act1", batch=1_000)["note"])
    assert bench.shows("act1.large_delta", bench.turn("act1", batch=10, one_in=100)["note"])
    still = bench.piece("act2.instrument").view
    pin = {"name": "mine", "values": {**{key: value for key, value in bench.start("act2").items() if key != "pins"}, "noise": 4.0}}
    assert bench.turn("act2", pins=[pin])["figures"] != still["figures"] and bench.shows("act2.real", still["note"])
    assert bench.shows("act2.made_up", bench.turn("act2", records=4_000)["note"])


def test_contexts_are_numbers_of_records(bench):
    for slug, trained in (("mnist", 60_000), ("million", 60_000), ("digits", 1_000)):
        bench.send("context", value=slug)
        assert runs.records_of(bench.lab) == runs.RECORDS[slug] and bench.start("act2")["records"] == trained
        note = bench.piece("act2.instrument").view["note"]
        assert bench.shows("act2.not_trained", note) == (slug == "million")
        assert bench.start("act1")["records"] == runs.RECORDS[slug]


def test_the_answer_stands_beside_the_others(bench):
    answer = figure(bench.piece("act2.instrument").view, "changes")
    bars = {mark["name"]: mark["x1"] for mark in answer["marks"] if mark["type"] == "bar"}
    assert list(bars.values()) == pytest.approx([1.2889, 2.9315, 2.7332, 3.0911, 1.2889], abs=5e-4)
    turned = figure(bench.turn("act2", noise=4.0, runs=2), "changes")
    after = {mark["name"]: mark["x1"] for mark in turned["marks"] if mark["type"] == "bar"}
    assert after["as set"] == pytest.approx(epsilon(0.04, 4.0, 500, 1e-4)) == after["clip norm × 3"] < after["runs × 5"] < bars["runs × 5"]


# --- keys, the ledger, the learner's own machine


def test_the_keys_follow_the_engine(bench, monkeypatch):
    monkeypatch.setitem(claims.NAMESPACE, "dp_mu", lambda *run: 4.0)
    assert bench.lab.question("act1").right.id == "always"
    monkeypatch.setitem(claims.NAMESPACE, "mean_noise", lambda sigma, clip, batch: sigma * clip / batch**0.5)
    assert bench.lab.question("act2_reflection").right.id == "root"


def test_the_ledger_keeps_what_was_designed(page):
    page.first_act("slightly")
    page.predict("act2", "clip", 3)
    page.reload().reflect("act2", "tenth")
    page.reload()
    page.turn("act1", noise=2.0)
    page.turn("act2", **{**QUIET, "runs": 1})
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["records"], design["noise"], design["rate"], design["runs"], design["accountant"]) == (1_000, 4.0, 0.16, 1, "rdp")
    assert design["epsilon"] == pytest.approx(epsilon(0.16, 4.0, 188, 1e-4), abs=1e-6) and design["constraint_hit"] is None
    assert (
        design["accuracy"] > 0.9
        and design["run_noise"] == 2.0
        and design["attack"] == pytest.approx(accuracy(design["epsilon"], 1e-4), abs=1e-6)
    )
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (55, True, True)


@pytest.fixture
def run(monkeypatch):
    """99% without noise; 13 points lost on few records, half a point on many."""
    lost = {(1_000, 0.0): 0.0, (1_000, 1.0): 4.0, (1_000, 4.0): 13.0, (20_000, 0.0): 0.0, (20_000, 2.0): 0.2, (20_000, 4.0): 0.5}
    rows = [
        figure_row(
            "accuracy",
            "run",
            99 - points,
            98 - points,
            99.5 - points,
            "%",
            2_000,
            records=records,
            noise=noise,
            epsilon=noise / 2,
            delta=1e-5,
        )
        for (records, noise), points in lost.items()
    ]
    monkeypatch.setitem(measured.ROWS, "dp_sgd", rows)


def test_the_learners_own_training(page, run):
    measured.keep(page.ledger, SLUG, "dp_sgd")
    page.reload().first_act()
    text = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    slots = page.slots("act1.here_dp_sgd", text)
    assert slots["few_lost"] == "13 points" and slots["many_lost"] == "0.5 points" and slots["few_epsilon"] == "2"
    here = figure(page.piece("act1.instrument").view, "here")
    own = [mark for mark in here["marks"] if mark["type"] == "point"]
    assert len(own) == 6 and all(mark["colour"] == "here" for mark in own)


def test_the_attack_on_this_noise_stands_beside_what_the_promise_allows(bench):
    view = bench.piece("act1.instrument").view
    attack = figure(view, "attack")
    assert "55" in next(card for card in view["cards"] if card["label"] == "Correct guesses, at most")["note"]
    lines = {mark["id"]: dict(map(tuple, mark["points"])) for mark in attack["marks"] if mark["id"] in ("bound", "noise")}
    assert lines["noise"][10.0] == pytest.approx(84.8, abs=0.1) and lines["bound"][10.0] == pytest.approx(71.8, abs=0.1)
