"""Lab V2-14 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import Page, bare, cards, figure

from ironlaw import claims
from ironlaw.engine.numerics.shares import clopper_pearson
from ironlaw.engine.robustness import attack_cost, largest_radius
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_14_adversarial import models
from ironlaw.labs.lab_v2_14_adversarial.act1 import setting
from ironlaw.labs.lab_v2_14_adversarial.act2 import plan, timed, verdict
from ironlaw.ledger import open_ledger
from ironlaw.measure.rows import case_row, figure_row
from ironlaw.registry.adversarial_tables import EPSILONS, NETS
from ironlaw.systems.limits import hit

SLUG = "lab_v2_14_adversarial"
BEST, FELL, STANDARD, ROBUST_50 = "Bartoldson2024Adversarial_WRN-94-16", "Alfarra2020ClusTR", "Standard", "Salman2020Do_R50"
TONES = {limit.name: limit.tone for limit in verdict.LIMITS}


def state_of(one):
    return hit(verdict.LIMITS, one).name


def first_act(page, option="chance", answer="suited"):
    page.predict("act1", option, 4)
    page.reload()
    page.reflect("act1", answer)
    return page.reload()


@pytest.fixture
def page(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        yield Page(ledger, SLUG)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The revealed lab, for tests that only turn dials."""
    with open_ledger(tmp_path_factory.mktemp("shared") / "ledger.db") as ledger:
        opened = first_act(Page(ledger, SLUG))
        opened.predict("act2", "eleven", 2)
        yield opened.reload()


def start_of(page, act):
    return {dial["id"]: dial["value"] for dial in page.piece(f"{act}.instrument").spec["dials"]}


def test_nothing_gives_an_answer_away(page):
    for sealed in ("74.04", "0.00", "0.037", "7.67 ×", "Claims that fell", "ClusTR"):
        assert sealed not in page.text, f"{sealed} is on the page before the first prediction"
    assert page.parts["act1_reveal"] is None and page.piece("act1.instrument").view.get("figures") in (None, [])


# --- Act I


def test_the_table_is_drawn_as_it_stands(bench):
    view = bench.piece("act1.instrument").view
    table = figure(view, "table")
    dots = {mark["name"]: (mark["x"], mark["y"]) for mark in table["marks"] if mark["type"] == "point" and mark["id"].startswith("dot-")}
    assert len(dots) == 10 and dots["Standard"] == (94.78, 0.0) and dots["Scaling laws"] == (93.68, 73.71)
    arrows = {mark["id"]: mark["points"] for mark in table["marks"] if mark["id"].startswith("arrow-")}
    assert {name.removeprefix("arrow-") for name in arrows} == {
        "ClusTR",
        "Manifold",
        "Bilateral",
        "Interpolation",
        "Stable ODE",
        "MeanSparse",
    }
    assert [tuple(point) for point in arrows["arrow-ClusTR"]] == [(91.03, 74.04), (91.03, 0.0)]
    line = next(mark["points"] for mark in table["marks"] if mark["id"] == "line")
    corners = [(93.68, 73.71), (95.19, 69.71), (95.23, 68.06)]
    assert [tuple(point) for point in line][::2] == corners
    rules = {mark["id"]: mark["y"] for mark in table["marks"] if mark["type"] == "rule"}
    assert rules == {"prediction": 10, "truth": 0}
    sure = next(mark["points"] for mark in table["marks"] if mark["id"] == "sure-Scaling laws")
    assert [y for _, y in sure] == pytest.approx([100 * clopper_pearson(7371, 10_000).low, 100 * clopper_pearson(7371, 10_000).high])
    assert "10 of the 99" in table["note"] and "15 claims" in table["note"]


def test_rows_can_be_left_out(bench):
    start = start_of(bench, "act1")

    def names(**turned):
        marks = figure(bench.turn("act1", **{**start, **turned}), "table")["marks"]
        return {mark["name"] for mark in marks if str(mark["id"]).startswith("dot-")}

    assert names(rows="fell") == {"Standard", "ClusTR", "Manifold", "Bilateral", "Interpolation", "Stable ODE"}
    assert names(rows="held") & names(rows="fell") == {"Standard"} and len(names(rows="held")) == 5
    assert (
        names(until=2020) == names(rows="fell") - {"Stable ODE"}
        and "Stable ODE" in names(until=2021)
        and "Scaling laws" not in names(until=2023)
    )
    bench.turn("act1", **start)


def test_a_hidden_slope_flatters_until_the_margin_is_followed(bench):
    start = start_of(bench, "act1")
    blind = bench.turn("act1", **{**start, "reader": "masked", "attack": "pgd"})
    assert float(cards(blind)["Reader, attacked so"].split()[0]) > 95 and bench.shows("act1.flatters", blind["banner"]["text"])
    seeing = bench.turn("act1", **{**start, "reader": "masked", "attack": "margin"})
    plain = bench.turn("act1", **{**start, "reader": "plain", "attack": "margin"})
    assert cards(seeing)["Reader, attacked so"] == cards(plain)["Reader, attacked so"] and not seeing["banner"]
    assert float(cards(seeing)["Reader, attacked so"].split()[0]) < 50
    assert cards(blind)["The attack takes"] == "41 passes"
    bench.turn("act1", **start)


def test_every_dial_of_act_one_changes_what_is_seen(bench):
    start = start_of(bench, "act1")
    base = {**start, "attack": "pgd"}
    moves = {
        "rows": "fell", "until": 2020, "confidence": "99", "reader": "hardened", "attack": "margin", "steps": "1", "restarts": "5",
        "epsilon": 0.2,
    }  # fmt: skip
    assert set(moves) == set(start)
    still = str(bench.turn("act1", **base)["figures"])
    for dial, value in moves.items():
        assert str(bench.turn("act1", **{**base, dial: value})["figures"]) != still, dial
    bench.turn("act1", **start)


def test_every_setting_of_the_reader_is_drawn(bench):
    start = start_of(bench, "act1")
    for reader in NETS:
        for attack in setting.ATTACKS:
            view = bench.turn(
                "act1", **{**start, "reader": reader, "attack": attack, "epsilon": EPSILONS[-1], "steps": "50", "restarts": "5"}
            )
            assert not view.get("error") and view["formula"].count("<svg") == 4
    bench.turn("act1", **start)


@pytest.mark.parametrize("option", ["most", "some", "chance", "none"])
def test_every_answer_of_act_one_is_met(page, option):
    page.predict("act1", option, 3)
    text = page.reload().parts["act1_reveal"].text
    assert page.shows(f"act1.feedback.{option}", text) and ("Your prediction holds" in bare(text)) == (option == "none")


# --- Act II


def case(slug=BEST, **settings):
    data = models.IMAGENET if slug in (ROBUST_50, "Standard_R50") else models.CIFAR
    return replace(plan.Plan(models.model(data, slug), device="h100_sxm"), **settings)


# state -> (a plan that shows it, the same with one thing changed)
BOTH_SIDES = {
    "unproven": ({"slug": FELL}, {"slug": BEST}),
    "noisy": ({"samples": 100}, {"samples": 0}),
    "thin": ({"steps": 9}, {"steps": 10}),
    "below": ({"slug": STANDARD}, {"slug": BEST}),
    "dominated": ({"members": 2}, {"members": 1}),
    "latency": ({"device": "l4"}, {"device": "h100_sxm"}),
    "budget": ({"images": 200.0}, {"images": 100.0}),
    "open": ({"slug": "Bai2024MixedNUTS"}, {"slug": BEST}),
    "works": ({}, {"batch": 256}),
}


@pytest.mark.parametrize("state", BOTH_SIDES)
def test_every_state_is_reached_from_both_sides(bench, state):
    there, away = BOTH_SIDES[state]
    assert state_of(case(**there)) == state != state_of(case(**{**there, **away}))
    one = case(**there)
    shown = settings.verdict(bench.lab, "act2", verdict.LIMITS, one, **verdict.hint(one, moving=False))
    assert shown["tone"] == TONES[state] and bench.shows(f"act2.{state}", shown["text"])


def test_a_sweep_of_the_dials_meets_every_state(bench):
    """Inside the dials' own ranges: the values are those that the instrument gets, and none of them is refused."""
    start = start_of(bench, "act2")
    on = {"model": BEST, "device": "h100_sxm"}
    moves = (
        {}, on, {"model": STANDARD}, {**on, "noise": "on"}, {**on, "steps": 1}, {**on, "members": 5}, {"model": BEST},
        {**on, "images": 1000}, {**on, "model": "Bai2024MixedNUTS"},
    )  # fmt: skip
    seen = []
    for more in moves:
        bench.turn("act2", **{**start, **more})
        seen.append(bench.lab.readouts["act2"]["constraint_hit"] or "works")
    assert seen[0] == "unproven" and seen[1] == "works" and set(seen) == set(BOTH_SIDES)
    bench.turn("act2", **start)


def test_the_second_context_can_be_won_and_lost():
    robust = case(ROBUST_50, steps=3)
    assert state_of(robust) == "works" and state_of(case(ROBUST_50, steps=2)) == "thin"
    assert state_of(case(ROBUST_50, steps=20)) == "budget" and state_of(case("Standard_R50")) == "below"


def test_unproven_is_what_fell_by_more_than_five_points():
    fell = {one.slug for one in models.models(models.CIFAR) if state_of(case(one.slug)) == "unproven"}
    assert fell == {FELL, "JinRinard2020Manifold", "WangZhang2019Bilateral", "ZhangXu2020Adversarial", "Kang2021Stable"}


FAILING = ({"slug": FELL}, {"device": "a100_80gb_sxm"}, {"members": 2}, {"steps": 5}, {"samples": 100}, {"batch": 256})


@pytest.mark.parametrize("failing", FAILING)
def test_what_would_do_does(failing):
    one = case(**failing)
    assert state_of(one) != "works" and any(verdict.fixes(one))
    assert all(state_of(changed) == "works" for _, changed in verdict.fixes(one))


def test_where_no_single_change_does_two_do():
    start = case(FELL, device="l4")
    assert not any(verdict.fixes(start))
    words, both = next(verdict.pairs(start))
    assert state_of(both) == "works" and both.model.slug == BEST and "Scaling laws" in words


def test_what_a_plan_takes():
    one = case()
    passes = 1e6 * one.images / 256 * 3 * attack_cost(10)
    assert one.hours == pytest.approx(passes * plan.forward("wrn_94_16", "h200_sxm", 256, "bf16", "compiled") / 3600)
    assert case(members=3).hours == pytest.approx(3 * one.hours) and case(members=3).seconds == pytest.approx(3 * one.seconds)
    assert case(STANDARD).hours * attack_cost(10) == pytest.approx(case(FELL).hours)
    assert case(samples=800).seconds == pytest.approx(100 * plan.forward("wrn_94_16", "h100_sxm", 256, "fp16", "eager"))
    assert one.box == pytest.approx(8 / 255 * 3072**0.5) and case(samples=100).radius == largest_radius(0.25, 100)


def test_training_is_costed_as_it_was_timed():
    """Three predicted passes times what the attack adds, against ResNet-18's steps on the H200."""
    forward = plan.forward("preact_resnet18", "h200_sxm", 1024, "bf16", "compiled")
    for steps in (0, 7, 10):
        assert 3 * forward * attack_cost(steps) == pytest.approx(timed.seconds(steps), rel=0.12)


def test_every_dial_of_act_two_changes_what_is_seen(bench):
    start = start_of(bench, "act2")
    base = {**start, "noise": "on"}
    moves = {
        "model": BEST, "device": "t4", "batch": 8, "dtype": "fp32", "mode": "compiled", "members": 3, "steps": 5, "images": 500,
        "noise": "off", "samples": 1000, "sigma": 1.0,
    }  # fmt: skip
    assert set(moves) == set(start)
    still = bench.turn("act2", **base)
    for dial, value in moves.items():
        view = bench.turn("act2", **{**base, dial: value})
        assert (view["figures"], view["cards"]) != (still["figures"], still["cards"]), dial
    bench.turn("act2", **start)


def test_the_prediction_stands_on_the_axis_of_the_step(bench):
    marks = figure(bench.piece("act2.instrument").view, "step")["marks"]
    rules = {mark["id"]: mark["x"] for mark in marks if mark["type"] == "rule"}
    assert rules == {"prediction": 11, "truth": pytest.approx(23 / 3)}
    bars = [mark["x1"] for mark in marks if mark["type"] == "bar" and mark["y"] == "against 10 steps"]
    assert max(bars) == pytest.approx(attack_cost(10))


@pytest.mark.parametrize("option", ["two", "third", "eleven", "double"])
def test_every_answer_of_act_two_is_met(page, option):
    first_act(page).predict("act2", option, 3)
    text = page.reload().parts["act2_reveal"].text
    assert page.shows(f"act2.feedback.{option}", text) and ("Your prediction holds" in bare(text)) == (option == "third")


def test_extremes_are_drawn(bench):
    start = start_of(bench, "act2")
    extremes = {"model": BEST, "device": "agx_orin_64gb", "batch": 256, "dtype": "fp32", "members": 5, "noise": "on", "samples": 100_000}
    axes = set()
    for more in (extremes, {"model": "JinRinard2020Manifold", "device": "h100_sxm", "batch": 1, "mode": "compiled"}):
        view = bench.turn("act2", **{**start, **more})
        assert not view.get("error")
        axes.add(str([(one["x"], one["y"]) for one in (figure(view, name) for name in ("places", "certificate"))]))
    assert len(axes) == 1
    bench.turn("act2", **start)


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_registry(page, monkeypatch):
    names = ("act1", "act1_reflection", "act2", "act2_reflection")
    assert [page.lab.question(name).right.id for name in names] == ["none", "suited", "third", "fifth"]
    monkeypatch.setitem(claims.NAMESPACE, "attack_cost", lambda steps: steps + 1.0)
    assert page.lab.question("act2").right.id == "eleven"
    monkeypatch.setitem(claims.NAMESPACE, "largest_radius", lambda sigma, samples: samples**0.5)
    assert page.lab.question("act2_reflection").right.id == "root"
    left = claims.NAMESPACE["attacked"]
    monkeypatch.setitem(claims.NAMESPACE, "attacked", lambda net, attack, *more: left("plain" if attack == "pgd" else net, attack, *more))
    assert page.lab.question("act1_reflection").right.id != "suited"


def test_the_ledger_keeps_what_was_designed(page):
    first_act(page, "none")
    page.predict("act2", "third", 3)
    page.reload().reflect("act2", "fifth")
    page.reload()
    page.turn("act1", reader="hardened", attack="pgd")
    page.turn("act2", model=BEST, device="h100_sxm", mode="compiled")
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["model"], design["device"], design["mode"], design["batch"]) == (BEST, "h100_sxm", "compiled", 32)
    assert (design["clean"], design["attacked"], design["reported"]) == (93.68, 73.71, 73.71) and design["constraint_hit"] is None
    assert design["attack_steps"] == 10 and 100 < design["training_h"] < 120 and design["batch_s"] < design["slo_s"] == 0.02
    assert (design["reader"], design["epsilon"]) == ("hardened", 0.1) and design["worst"] <= design["left"]
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (0, True, True)


def test_the_target_of_the_waiting_line_is_taken_up(page):
    first_act(page).predict("act2", "two", 2)
    page.reload()
    assert plan.target(page.lab) == (plan.SLO, False) and page.shows("act2.target_open", page.piece("act2.instrument").view["note"])
    page.ledger.append(plan.QUEUE, "design", {"target_p99_s": 0.05})
    page.reload()
    assert plan.target(page.lab) == (0.05, True) and page.shows("act2.target_saved", page.piece("act2.instrument").view["note"])
    page.ledger.append(plan.QUEUE, "design", {"target_p99_s": 9.0})
    assert plan.target(page.lab) == (plan.LONGEST, True)


def test_contexts_are_sets_of_images(bench):
    bench.send("context", value="imagenet")
    table = figure(bench.piece("act1.instrument").view, "table")
    assert "3 of the 30" in table["note"] and start_of(bench, "act2")["model"] == "Standard_R50"
    bench.send("context", value="cifar10")
    assert start_of(bench, "act2")["model"] == FELL


@pytest.fixture
def run(monkeypatch):
    """One step leaves three quarters at a tenth, twenty steps half; a step takes two and a half passes."""
    rows = [case_row(name, name, {"images": 797}, measured.timing(seconds)) for name, seconds in (("forward", 0.01), ("step", 0.025))]
    for attack, steps, scale in (("FGSM", 1, 250), ("PGD-1", 1, 300), ("PGD-20", 20, 480)):
        for epsilon in (0.0, 0.05, 0.1, 0.2):
            value = 100 - scale * epsilon
            params = {"attack": attack, "steps": steps, "epsilon": epsilon}
            rows.append(figure_row("attacked", "attacked", value, value - 2, value + 2, "%", 797, **params))
    monkeypatch.setitem(measured.ROWS, "pgd", rows)


def test_the_learners_own_attack(page, run):
    measured.keep(page.ledger, SLUG, "pgd")
    first_act(page.reload())
    result = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    shown = page.slots("act1.here_pgd", result)
    assert (shown["weak"], shown["strong"], shown["cost"]) == ("75 %", "52 %", "2.5 ×")
    here = [mark for mark in figure(page.piece("act1.instrument").view, "readers")["marks"] if mark["colour"] == "here"]
    assert len(here) == 8
    assert "4 %" in bare(page.parts["act1_claims"].text)
