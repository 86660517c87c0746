"""Lab V2-14 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import bare, cards, figure
from stand_in import StandIn

from ironlaw import claims
from ironlaw.engine.numerics.shares import clopper_pearson
from ironlaw.engine.robustness import attack_cost, largest_radius
from ironlaw.labs.lab_v2_14_adversarial import models
from ironlaw.labs.lab_v2_14_adversarial.act1 import setting
from ironlaw.labs.lab_v2_14_adversarial.act2 import plan, timed, verdict
from ironlaw.measure.rows import case_row, figure_row
from ironlaw.registry.adversarial_tables import EPSILONS, NETS
from ironlaw.systems.limits import hit

SLUG = "lab_v2_14_adversarial"
SAID = {"act1": "chance", "act1_reflection": "suited", "act2": "same_time"}
BEST, FELL, STANDARD, ROBUST_50 = "Bartoldson2024Adversarial_WRN-94-16", "Alfarra2020ClusTR", "Standard", "Salman2020Do_R50"


def state_of(one):
    return hit(verdict.LIMITS, one).name


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
    boxes = [mark for mark in table["marks"] if mark["type"] == "cells"]
    assert sum(mark["count"] for mark in boxes) == 88 and table["note"] == "all 99 models in RobustBench, 1 of them left of the picture"


def test_rows_can_be_left_out(bench):
    start = bench.start("act1")

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


def test_a_hidden_slope_flatters_until_the_margin_is_followed(bench):
    start = bench.start("act1")
    blind = bench.turn("act1", **{**start, "reader": "masked", "attack": "pgd"})
    assert float(cards(blind)["Digits under this attack"].rstrip("%")) > 95 and bench.shows("act1.flatters", blind["note"])
    seeing = bench.turn("act1", **{**start, "reader": "masked", "attack": "margin"})
    plain = bench.turn("act1", **{**start, "reader": "plain", "attack": "margin"})
    assert cards(seeing)["Digits under this attack"] == cards(plain)["Digits under this attack"]
    assert not bench.shows("act1.flatters", seeing["note"])
    assert float(cards(seeing)["Digits under this attack"].rstrip("%")) < 50
    assert cards(blind)["Cost of the attack"] == "41 passes"


def test_every_setting_of_the_reader_is_drawn(bench):
    start = bench.start("act1")
    for reader in NETS:
        for attack in setting.ATTACKS:
            view = bench.turn(
                "act1", **{**start, "reader": reader, "attack": attack, "epsilon": EPSILONS[-1], "steps": "50", "restarts": "5"}
            )
            assert not view.get("error") and view["formula"].count("<svg") == 4


# --- Act II


def case(slug=BEST, **settings):
    data = models.IMAGENET if slug in (ROBUST_50, "Standard_R50") else models.CIFAR
    return replace(plan.Plan(models.model(data, slug), device="h100_sxm"), **settings)


def test_the_second_context_can_be_won_and_lost():
    robust = case(ROBUST_50, steps=3)
    assert state_of(robust) == "works" and state_of(case(ROBUST_50, steps=2)) == "thin"
    assert state_of(case(ROBUST_50, steps=20)) == "budget" and state_of(case("Standard_R50")) == "below"


def test_unproven_is_what_fell_by_more_than_five_points():
    fell = {one.slug for one in models.models(models.CIFAR) if state_of(case(one.slug)) == "unproven"}
    assert fell == {FELL, "JinRinard2020Manifold", "WangZhang2019Bilateral", "ZhangXu2020Adversarial", "Kang2021Stable"}


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
        assert 3 * forward * attack_cost(steps) == pytest.approx(timed.seconds(steps), rel=0.24)


def test_the_prediction_stands_in_front_where_the_question_s_case_is_drawn(bench):
    view = bench.piece("act2.instrument").view
    rules = {mark["id"]: mark["x"] for mark in figure(view, "places")["marks"] if mark["type"] == "rule" and "x" in mark}
    ordinary, robust = (plan.forward(name, "l4", 32, "fp16", "eager") for name in ("wrn_28_10", "wrn_94_16"))
    assert (rules["prediction"], rules["truth"]) == (pytest.approx(ordinary), pytest.approx(robust))
    other = figure(bench.turn("act2", device="h100_sxm"), "places")["marks"]
    assert not {"prediction", "truth"} & {mark["id"] for mark in other if "id" in mark}
    marks = figure(view, "step")["marks"]
    bars = [mark["x1"] for mark in marks if mark["type"] == "bar" and mark["y"] == "against 10 steps"]
    assert max(bars) == pytest.approx(attack_cost(10))


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_registry(bench, monkeypatch):
    monkeypatch.setitem(claims.NAMESPACE, "predict", lambda graph, *more: StandIn(seconds=1.0))
    assert bench.lab.question("act2").right.id == "same_time"
    monkeypatch.setitem(claims.NAMESPACE, "largest_radius", lambda sigma, samples: samples**0.5)
    assert bench.lab.question("act2_reflection").right.id == "root"
    left = claims.NAMESPACE["attacked"]
    monkeypatch.setitem(claims.NAMESPACE, "attacked", lambda net, attack, *more: left("plain" if attack == "pgd" else net, attack, *more))
    assert bench.lab.question("act1_reflection").right.id != "suited"


def test_the_ledger_keeps_what_was_designed(page):
    page.first_act("none")
    page.predict("act2", "many_times", 3)
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


def test_the_target_of_the_waiting_line_is_offered(page):
    page.first_act().predict("act2", "twice_as_long", 2)
    page.reload()
    assert page.start("act2")["slo"] == 1e3 * plan.SLO and not page.piece("act2.instrument").spec["offers"]
    page.ledger.append(plan.QUEUE, "design", {"target_p99_s": 0.05})
    page.reload()
    assert page.piece("act2.instrument").spec["offers"][0]["dials"]["slo"] == 50
    page.ledger.append(plan.QUEUE, "design", {"target_p99_s": 9.0})
    (offer,) = page.reload().piece("act2.instrument").spec["offers"]
    assert offer["dials"]["slo"] == 1e3 * plan.LONGEST and "had to become" in offer["note"]


def test_contexts_are_sets_of_images(bench):
    bench.send("context", value="imagenet")
    table = figure(bench.piece("act1.instrument").view, "table")
    assert table["note"] == "all 30 models in RobustBench" and bench.start("act2")["model"] == "Standard_R50"
    bench.send("context", value="cifar10")
    assert bench.start("act2")["model"] == FELL


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
    page.reload().first_act()
    result = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    shown = page.slots("act1.here_pgd", result)
    assert (shown["weak"], shown["strong"], shown["cost"]) == ("75%", "52%", "2.5×")
    here = [mark for mark in figure(page.piece("act1.instrument").view, "readers")["marks"] if mark["colour"] == "here"]
    assert len(here) == 8
    assert "4%" in bare(page.parts["act1_claims"].text)
