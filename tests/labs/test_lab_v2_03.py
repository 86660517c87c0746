"""Lab V2-03 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

import measured
import pytest
from headless import cards, figure

from ironlaw import claims
from ironlaw.engine.cluster import jobs
from ironlaw.engine.cluster.loads import flow
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.topology import leaf_spine
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_03_fabric.act1 import local_runs
from ironlaw.labs.lab_v2_03_fabric.act1.setting import KINDS, Setting
from ironlaw.labs.lab_v2_03_fabric.act2 import slots as second
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import Case
from ironlaw.labs.lab_v2_03_fabric.act2.verdict import LIMITS
from ironlaw.measure.experiments import collectives_trial
from ironlaw.measure.rows import case_row
from ironlaw.registry.interconnects import interconnect
from ironlaw.systems.fields import parameter
from ironlaw.systems.training import fabric_jobs

SLUG = "lab_v2_03_fabric"
SAID = {"act1": "x4", "act1_reflection": "place", "act2": "all"}


# --- Act I


def test_the_ring_of_the_story(bench):
    view = bench.piece("act1.instrument").view
    assert cards(view)["Everything waits for"] == "ports" and cards(view)["Slowdown"].startswith("1")
    drawn = figure(view, "fabric")
    assert {row[1] for row in drawn["table"]["rows"]} == {"12.5%"} and len(drawn["table"]["rows"]) == 32
    assert {mark["colour"] for mark in drawn["marks"] if mark["id"].startswith("up-")} == {"good"}
    rules = {mark["id"]: mark["x"] for mark in figure(view, "factors")["marks"] if mark["type"] == "rule"}
    assert rules == {"prediction": 4, "truth": 1}


@pytest.mark.parametrize(
    ("kind", "scattered", "factor"), [("ring", 0, 1), ("ring", 1, 4), ("all_to_all", 0, 4 * 992 / 1023), ("two_level", 0, 1)]
)
def test_what_the_reveal_says(kind, scattered, factor):
    assert Setting(kind=kind, scattered=float(scattered)).factor == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("thin", [1.0, 4.0, 32.0])
def test_times_are_the_engines(kind, thin):
    """The factor over the ports is the factor over a spine that holds nobody up."""
    port = interconnect("ndr400").per_direction
    full, at = (flow(kind, leaf_spine(1024, 32, r, port), 1e9, per_node=8 if kind == "two_level" else 1) for r in (1, thin))
    one = Setting(kind=kind, thin=thin)
    assert one.seconds == pytest.approx(at) and one.factor == pytest.approx(at / full)


@pytest.mark.parametrize("shape", ["leaf_spine", "three_tiers", "rails", "torus"])
def test_every_size_has_a_picture(bench, shape):
    bench.send("context", value=shape)
    start = bench.start("act1")
    for hosts in (parameter(Setting, "hosts").stops[0], 1024, parameter(Setting, "hosts").stops[-1]):
        for kind in ("ring", "permutation", "all_to_all"):
            view = bench.turn("act1", **{**start, "hosts": hosts, "kind": kind, "per_leaf": 64, "scattered": 50})
            assert view["figures"] and not view.get("error")
            assert float(Setting(shape, hosts=hosts, per_leaf=64, thin=4.0, kind=kind, scattered=0.5).factor) >= 1 - 1e-9


# --- Act II


def test_no_single_dial_builds_the_fabric(bench):
    """Rails alone hold in rack order only; with a thicker spine, which the budget just allows, or larger leaves they hold on a bad day."""
    start = bench.start("act2")
    one_turn = [
        {dial["id"]: option["value"]}
        for dial in bench.piece("act2.instrument").spec["dials"]
        for option in dial.get("options", ())
        if dial["id"] in ("radix", "tiers", "leaf_thin") and option["value"] != start[dial["id"]]
    ]
    assert len(one_turn) == 9
    for turn in [{"rails": True}, *one_turn]:
        assert bench.turn("act2", **{**start, **turn})["banner"]["tone"] != "good", turn
    for turns in ({"rails": True, "leaf_thin": 3}, {"rails": True, "radix": 128}):
        assert bench.turn("act2", **{**start, **turns})["banner"]["tone"] == "good", turns


@pytest.mark.parametrize("salt", [1_000_003, 2_000_006, 3_000_009])
def test_other_bad_days_say_the_same(salt, monkeypatch):
    """Rails on a 4:1 spine fail on a typical bad day, and what the task's solutions hold does not hang on the placements drawn."""
    monkeypatch.setattr(jobs, "fragmented", lambda nodes, share, seed: fragmented(nodes, share, seed ^ salt))
    fabric_jobs.shared_fabric.cache_clear()
    fabrics = {"bad_day": [{}], "works": [{"leaf_thin": 3.0}, {"radix": 128}, {"radix": 128, "leaf_thin": 8.0}]}
    verdicts = {name: {settings.hit(LIMITS, Case(rails=True).at(**one)).name for one in cases} for name, cases in fabrics.items()}
    fabric_jobs.shared_fabric.cache_clear()
    assert verdicts == {"bad_day": {"bad_day"}, "works": {"works"}}


def test_a_bad_day_is_drawn_below_rack_order(bench):
    start = bench.start("act2")
    rows = figure(bench.turn("act2", **{**start, "rails": True}), "steps")["y"]["names"]
    assert rows == ["dense model", "experts", "pipeline", "dense model, bad day", "experts, bad day", "pipeline, bad day"]
    assert len(figure(bench.turn("act2", **{**start, "scattered": 10}), "steps")["y"]["names"]) == 3  # it is one already


def test_where_there_is_no_tree_the_picture_is_how_many_it_holds(bench):
    none = bench.turn("act2", radix=32)
    assert [one["id"] for one in none["figures"]] == ["holds"] and cards(none)["Holds"] == "768"


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_what_they_are_computed_from(bench, monkeypatch):
    plain = claims.NAMESPACE["leaf_spine"]
    monkeypatch.setitem(claims.NAMESPACE, "leaf_spine", lambda hosts, per_leaf, *rest: plain(hosts, 1, *rest))  # every edge crosses
    assert bench.lab.question("act1").right.id == "x4"
    tree = claims.NAMESPACE["shared_tree"]
    monkeypatch.setitem(
        claims.NAMESPACE, "shared_tree", lambda thin=(1.0,), **more: tree(thin=(2 * thin[0] ** 1.5 if thin[0] > 1 else 1.0,), **more)
    )
    assert bench.lab.question("act2").right.id == "all"  # at 16:1 the dense model waits as well


def test_the_ledger_keeps_what_was_built(page):
    page.first_act("x1")
    page.predict("act2", "experts", 3)
    page.reload().reflect("act2", "rails")
    page.reload()
    page.turn("act2", rails=True, leaf_thin=7, radix=128)
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["hosts"], design["oversubscription"], design["factor"], design["kind"]) == (1024, 4, 1, "ring")
    assert (design["rails"], design["leaf_thin"], design["ports"], design["constraint_hit"]) == (True, 7, 2816, None)
    assert design["link_bytes_per_s"] == 50e9 and design["experts_factor"] < 1.1 and design["exchange_share"] < 0.2
    assert (design["act1_correct"], design["act2_correct"]) == (True, True)


def test_the_ports_of_the_box_that_was_saved_are_offered(page):
    page.first_act().predict("act2", "all", 2)
    begins = page.reload().start("act2")["gbits"]
    assert not page.piece("act2.instrument").spec["offers"]
    page.ledger.append("lab_v2_02_interconnect", "design", {"box": "dgx_a100"})
    page.reload()
    (offer,) = page.piece("act2.instrument").spec["offers"]
    assert page.start("act2")["gbits"] == begins != 200 == offer["dials"]["gbits"]


@pytest.fixture
def run(monkeypatch):
    """A star as long as a ring on one wire, and eight times as long where each rank has its own."""
    rows = [
        case_row(way, name, {"algorithm": name, "ranks": count, "bytes": size, "steps": 1, "busiest_bytes": size},
                 measured.timing(0.08 if way == collectives_trial.PACED and name == "star" else 0.01))
        for way, by_ranks in collectives_trial.SIZES.items() for count, sizes in by_ranks.items() for size in sizes
        for name in collectives_trial.ALGORITHMS
    ]  # fmt: skip
    monkeypatch.setitem(measured.ROWS, "collectives", rows)


def test_one_wire_on_the_learners_machine(page, run):
    measured.keep(page.ledger, SLUG, "collectives")
    page.reload().first_act()
    told = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    slots = page.slots("act1.here_collectives", told)
    assert (slots["shared"], slots["own"]) == ("1×", "8×")
    page.send("context", value="loopback")
    view = page.piece("act1.instrument").view
    assert cards(view)["Slowdown"] == "8×" and len(figure(view, "fabric")["table"]["rows"]) == 8


# --- words that were false


def test_the_dense_model_loses_on_the_leaf_that_it_shares():
    """Alone on a leaf its eight rings ask for 8 of 12 uplinks; the leaf beside the experts is the only one that holds it up."""
    held = [leaf for leaf in second.THIN.uplinks["leaf"] if leaf.seconds.get("dense", 0) > 1.01 * second.FULL.waiting["dense"].port]
    assert len(held) == 1 and set(held[0].seconds) == {"dense", "experts"}


def test_latency_is_the_same_on_any_spine(bench):
    """2,046 steps of 14 µs beside 40 ms of bytes: left out, and said."""
    said = bench.slots("act1.starts", bench.turn("act1", hosts=1024)["note"])
    assert (said["steps"], said["latency"]) == ("2,046", "28.6 ms")


def test_a_noisy_wire_teaches_nothing():
    assert "noisy" in local_runs.verdict([0.161, 0.079, 0.106]) and "none of them wins" in local_runs.verdict([0.1, 0.11, 0.12])
