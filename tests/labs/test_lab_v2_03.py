"""Lab V2-03 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

import measured
import pytest
from headless import Page, bare, cards, figure

from ironlaw import claims
from ironlaw.engine.cluster.loads import flow
from ironlaw.engine.cluster.topology import leaf_spine
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_03_fabric.act1.setting import KINDS, Setting
from ironlaw.labs.lab_v2_03_fabric.act2 import verdict
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import Case
from ironlaw.ledger import open_ledger
from ironlaw.measure.experiments import collectives_trial
from ironlaw.measure.rows import case_row
from ironlaw.registry.interconnects import interconnect
from ironlaw.systems.fields import parameter
from ironlaw.systems.limits import hit

SLUG = "lab_v2_03_fabric"
TONES = {limit.name: limit.tone for limit in verdict.LIMITS}


def state_of(one):
    return hit(verdict.LIMITS, one).name


def first_act(page, option="x4", answer="place"):
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
        found = first_act(Page(ledger, SLUG))
        found.predict("act2", "all", 2)
        yield found.reload()


def start_of(page, act):
    return {dial["id"]: dial["value"] for dial in page.piece(f"{act}.instrument").spec["dials"]}


def test_nothing_gives_an_answer_away(page):
    for sealed in ("12.5", "3.88", "1.65", "370", "Everything waits", "wait for the cut"):
        assert sealed not in page.text, f"{sealed} is on the page before the first prediction"
    assert page.parts["act1_reveal"] is None and page.piece("act1.instrument").view.get("figures") in (None, [])


# --- Act I


def test_the_ring_of_the_story(bench):
    view = bench.piece("act1.instrument").view
    assert cards(view)["Everything waits for"] == "ports" and cards(view)["Times as long"].startswith("1")
    drawn = figure(view, "fabric")
    assert {row[1] for row in drawn["table"]["rows"]} == {"12.5 %"} and len(drawn["table"]["rows"]) == 32
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
    start = start_of(bench, "act1")
    for hosts in (parameter(Setting, "hosts").stops[0], 1024, parameter(Setting, "hosts").stops[-1]):
        for kind in ("ring", "permutation", "all_to_all"):
            view = bench.turn("act1", **{**start, "hosts": hosts, "kind": kind, "per_leaf": 64, "scattered": 50})
            assert view["figures"] and not view.get("error")
            assert float(Setting(shape, hosts=hosts, per_leaf=64, thin=4.0, kind=kind, scattered=0.5).factor) >= 1 - 1e-9
    bench.turn("act1", **start)
    bench.send("context", value="leaf_spine")


def test_every_dial_of_act_one_changes_what_is_seen(bench):
    start = start_of(bench, "act1")
    moves = {"kind": "all_to_all", "thin": 8, "scattered": 10, "seed": 2, "hosts": 256, "per_leaf": 8, "size": 10}
    assert set(moves) == set(start)
    still = str(bench.turn("act1", **{**start, "scattered": 50}))
    for dial, value in moves.items():
        assert str(bench.turn("act1", **{**start, "scattered": 50, dial: value})) != still, dial
    bench.turn("act1", **start)


@pytest.mark.parametrize("option", ["x1", "x2", "x4", "x16"])
def test_every_answer_of_act_one_is_met(page, option):
    page.predict("act1", option, 3)
    text = page.reload().parts["act1_reveal"].text
    assert page.shows(f"act1.feedback.{option}", text) and ("Your prediction holds" in bare(text)) == (option == "x1")


# --- Act II

# state -> (a setting that shows it, the same with one dial turned)
BOTH_SIDES = {
    "no_such_tree": ({"radix": 32}, {"rails": True}),
    "ports": ({"leaf_thin": 1.0}, {"leaf_thin": 4.0}),
    "cut_saturated": ({}, {"rails": True}),
    "fragmented": ({"rails": True, "scattered": 1.0}, {"scattered": 0.0}),
    "slow": ({"gbits": 800, "experts": 64, "leaf_thin": 4.0, "top_k": 1}, {"rails": True}),
    "works": ({"rails": True}, {"scattered": 1.0}),
}


@pytest.mark.parametrize("state", BOTH_SIDES)
def test_every_state_is_reached_from_both_sides(bench, state):
    there, away = BOTH_SIDES[state]
    assert state_of(Case(**there)) == state != state_of(Case(**{**there, **away}))
    shown = settings.verdict(bench.lab, "act2", verdict.LIMITS, Case(**there))
    assert shown["tone"] == TONES[state] and bench.shows(f"act2.{state}", shown["text"])


@pytest.mark.parametrize("failing", [{}, {"gbits": 200, "rails": True}, {"rails": True, "scattered": 1.0}, {"radix": 32, "experts": 8}])
def test_what_would_do_does(failing):
    one = Case(**failing)
    words = verdict.fixes(one)
    changes = {"rails": {"rails": True}, "rack order": {"scattered": 0.0}, "a third tier": {"tiers": 3}}
    assert words and state_of(one) != "works"
    for cure in words:
        number = next((float(part.split(":")[0]) for part in cure.split() if part[0].isdigit()), 0)
        name = "radix" if cure.startswith("switches") else "gbits" if cure.startswith("ports") else "leaf_thin"
        assert state_of(one.at(**changes.get(cure, {name: number if name == "leaf_thin" else int(number)}))) == "works", cure


def test_every_dial_of_act_two_changes_what_is_seen(bench):
    start = start_of(bench, "act2")
    base = {"tiers": 3, "radix": 64, "leaf_thin": 2, "pod_thin": 2, "scattered": 50}
    moves = {
        "radix": 128, "tiers": 2, "leaf_thin": 4, "pod_thin": 7, "rails": True, "scattered": 100, "gbits": 800, "experts": 64, "top_k": 8,
        "collisions": 30,
    }  # fmt: skip
    assert set(moves) == set(start)
    still = bench.turn("act2", **{**start, **base})
    for dial, value in moves.items():
        view = bench.turn("act2", **{**start, **base, dial: value})
        assert (str(view["figures"]), str(view["cards"])) != (str(still["figures"]), str(still["cards"])), dial
    none = bench.turn("act2", **{**start, "radix": 32})
    assert [one["id"] for one in none["figures"]] == ["holds"] and cards(none)["Holds"] == "768"
    bench.turn("act2", **start)


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_what_they_are_computed_from(page, monkeypatch):
    names = ("act1", "act1_reflection", "act2", "act2_reflection")
    assert [page.lab.question(name).right.id for name in names] == ["x1", "place", "experts", "rails"]
    plain = claims.NAMESPACE["leaf_spine"]
    monkeypatch.setitem(claims.NAMESPACE, "leaf_spine", lambda hosts, per_leaf, *rest: plain(hosts, 1, *rest))  # every edge crosses
    assert page.lab.question("act1").right.id == "x4"
    tree = claims.NAMESPACE["shared_tree"]
    monkeypatch.setitem(
        claims.NAMESPACE, "shared_tree", lambda thin=(1.0,), **more: tree(thin=(2 * thin[0] ** 1.5 if thin[0] > 1 else 1.0,), **more)
    )
    assert page.lab.question("act2").right.id == "all"  # at 16:1 the dense model waits as well


def test_the_ledger_keeps_what_was_built(page):
    first_act(page, "x1")
    page.predict("act2", "experts", 3)
    page.reload().reflect("act2", "rails")
    page.reload()
    page.turn("act2", rails=True, leaf_thin=7)
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["hosts"], design["oversubscription"], design["factor"], design["kind"]) == (1024, 4, 1, "ring")
    assert (design["rails"], design["leaf_thin"], design["ports"], design["constraint_hit"]) == (True, 7, 2688, None)
    assert design["link_bytes_per_s"] == 50e9 and design["experts_factor"] < 1.1 and design["exchange_share"] < 0.2
    assert (design["act1_correct"], design["act2_correct"]) == (True, True)


def test_ports_start_from_the_box_that_was_saved(page):
    first_act(page).predict("act2", "all", 2)
    assert page.shows("act2.no_lab_02", page.reload().piece("act2.instrument").view["note"])
    page.ledger.append("lab_v2_02_interconnect", "design", {"box": "dgx_a100"})
    page.reload()
    assert start_of(page, "act2")["gbits"] == 200


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
    first_act(page.reload())
    told = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    slots = page.slots("act1.here_collectives", told)
    assert (slots["shared"], slots["own"]) == ("1 ×", "8 ×")
    page.send("context", value="loopback")
    view = page.piece("act1.instrument").view
    assert cards(view)["Times as long"] == "8 ×" and len(figure(view, "fabric")["table"]["rows"]) == 8
