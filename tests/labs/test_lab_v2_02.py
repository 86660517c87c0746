"""Lab V2-02 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import bare, cards, figure

from ironlaw import claims
from ironlaw.engine.cluster.collectives import bus_bandwidth, time
from ironlaw.engine.cluster.links import ring_bandwidth
from ironlaw.labs.lab_v2_02_interconnect.act1 import ring, slots
from ironlaw.labs.lab_v2_02_interconnect.act2 import groups
from ironlaw.measure.experiments import staircase_trial
from ironlaw.measure.rows import case_row
from ironlaw.registry.boxes import box
from ironlaw.registry.interconnects import interconnect
from ironlaw.systems.training.placed_steps import placed_step

SLUG = "lab_v2_02_interconnect"
SAID = {"act1": "same", "act1_reflection": "pcie_four", "act2": "p66", "estimate": 20.0}


# --- Act I


def test_the_ring_of_the_story(bench):
    view = bench.piece("act1.instrument").view
    assert cards(view)["Slowest edge"] == "PCI Express" and cards(view)["Bus bandwidth"].startswith("23.")
    wires = figure(view, "wires")
    edges = {row[0]: row for row in wires["table"]["rows"]}
    assert [row[0] for row in wires["table"]["rows"] if row[-1] == "the slowest"] == ["1 to 2", "3 to 0"]
    assert edges["0 to 1"][3] == "100%" and edges["1 to 2"][3] == "40%"  # the fast ones have arrived, and wait
    rules = {mark["id"]: mark["x"] for mark in figure(view, "staircase")["marks"] if mark["type"] == "rule"}
    assert rules == {"prediction": 195e9, "truth": ring_bandwidth(box("a100_pairs"), 4)}
    assert truth_label(view) == "it is 23.6 GB/s"
    assert truth_label(bench.turn("act1", ranks=2)) == "as asked, it is 23.6 GB/s"  # the dials left the question's case, its mark stayed
    bench.turn("act1", ranks=4)


def truth_label(view):
    return bare(next(mark["label"] for mark in figure(view, "staircase")["marks"] if mark["id"] == "truth"))


@pytest.mark.parametrize(("slug", "ranks"), [("a100_pairs", 2), ("a100_pairs", 4), ("dgx_h100", 8), ("dgx_a100", 16)])
@pytest.mark.parametrize("size", [1e4, 1e7, 1e9])
def test_times_are_those_of_lab_v2_06(slug, ranks, size):
    """One law for the course: steps times α, and bytes over the rate of the slowest edge."""
    one = ring.Setting(box(slug), ranks, size=size)
    assert one.seconds == pytest.approx(time("all_reduce", "ring", ranks, size, one.alpha, one.binding[1]).total)
    assert one.bus == pytest.approx(bus_bandwidth("all_reduce", ranks, size, one.seconds))
    assert replace(one, what=ring.EXCHANGE).latency == pytest.approx((ranks - 1) * one.alpha)


def test_the_ring_of_the_story_by_hand():
    """Six steps of 10.232 µs, and 1.5 × 100 MB over 23.63 GB/s."""
    one = ring.Setting(box("a100_pairs"), 4, size=1e8)
    assert one.latency == pytest.approx(61.392e-6) and one.seconds == pytest.approx(61.392e-6 + 1.5e8 / 23.63e9)


def test_a_switch_that_adds():
    """Two steps of 3.4 µs, and 9/8 of a gigabyte at 315.2 GB/s; a DGX A100's switch only forwards."""
    one = ring.Setting(box("dgx_h100"), 8, size=1e9, algorithm=ring.SWITCH)
    assert one.adds and one.seconds == pytest.approx(6.8e-6 + 1.125e9 / 315.2e9)
    assert one.seconds < replace(one, algorithm=ring.RING).seconds
    across, older = replace(one, ranks=16, nics=8), replace(one, box=box("dgx_a100"))
    assert not across.adds and not older.adds and older.seconds == replace(older, algorithm=ring.RING).seconds


def test_one_message_goes_over_one_port():
    one = ring.Setting(box("dgx_h100"), 16, size=1e9, what=ring.SEND)
    assert one.binding == ("nic", interconnect("ndr400").achieved) and one.factor == 1
    assert replace(one, ranks=8).binding[0] == "link"


def test_two_levels_send_less_between_boxes():
    """With one port of each box: M over the port instead of 15/8 of it, and a little inside."""
    flat = ring.Setting(box("dgx_a100"), 16, size=4e9, nics=1)
    levels = replace(flat, algorithm=ring.TWO_LEVEL)
    port, inside = interconnect("hdr200").achieved, ring_bandwidth(box("dgx_a100"), 8)
    assert levels.bytes_seconds == pytest.approx(4e9 / port + 2 * 7 / 8 * 4e9 / min(inside, box("dgx_a100").bus))
    assert 1.5 < flat.seconds / levels.seconds < 1.9
    assert not replace(levels, ranks=12).levels and replace(levels, nics=8).binding[0] == "nic"


def test_orders_of_a_ring():
    pairs, dgx = box("a100_pairs"), box("dgx_a100")
    assert ring.Setting(pairs, 4).places == (0, 1, 2, 3)
    assert ring.Setting(pairs, 4, order=ring.CROSSED).places == (0, 2, 1, 3)
    assert ring.Setting(pairs, 4, first=1, second=2).places == (0, 2, 1, 3)
    assert ring.Setting(pairs, 3, first=1, second=3).places == (0, 1, 2)
    crossed = ring.Setting(dgx, 16, size=1e9, order=ring.CROSSED)
    assert all(edge.kind == "nic" for edge in crossed.edges) and crossed.binding[1] == dgx.nic.achieved  # eight edges share eight ports


def test_what_others_timed_stands_beside_the_line(bench):
    view = bench.piece("act1.instrument").view
    dots = [mark for mark in figure(view, "by-size")["marks"] if mark.get("name", "").startswith("NCCL")]
    assert dots
    for mark in dots:
        assert ring.Setting(box("a100_pairs"), 4, size=mark["x"]).seconds == pytest.approx(mark["y"], rel=0.05)


def test_a_size_stands_with_its_bandwidth():
    size, two = slots.timed("a100_pairs", 2)
    assert size > 5e8 and two == pytest.approx(195.5e9, rel=0.01)


def test_the_cliffs():
    factors = [high / low for _, high, low in slots.cliffs()]
    assert factors == pytest.approx([9.0, 7.14, 1.211, 9.71, 8.276], rel=0.01)


# --- Act II


def case(slug="dgx_h100", **settings):
    return groups.Case(box(slug), **settings)


def test_the_box_of_act_one_has_its_cliff_here_too():
    """Four A100 in pairs: inside a pair next to nothing, over all four half of the step."""
    two, four = (case("a100_pairs", boxes=1, tensor=size).placed.tensor_share for size in (2, 4))
    assert two < 0.08 and four > 0.45


def test_a_group_that_does_not_divide_is_moved(bench):
    bench.send("context", value="h100_sxm")
    three = bench.turn("act2", **{**bench.start("act2"), "boxes": 3, "tensor": 16})  # sixteen do not divide 24
    assert three["moved"] and "does not divide 24 devices" in three["error"]["message"]


def test_both_answers_stand_beside_the_shares(bench):
    at = {mark["id"]: mark["x"] for mark in figure(bench.piece("act2.instrument").view, "on-wires")["marks"] if mark["type"] == "rule"}
    assert at["estimate"] == 20 and at["prediction"] == 66
    assert at["truth"] == pytest.approx(100 * placed_step("llama3_8b", "dgx_h100", 16, nics=1).tensor_share)


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_registry(bench, monkeypatch):
    pairs, plain = box("a100_pairs"), claims.NAMESPACE["box"]
    faster = replace(pairs, bridge=interconnect("pcie5_x16"))
    monkeypatch.setitem(claims.NAMESPACE, "box", lambda name: faster if name == "a100_pairs" else plain(name))
    assert float(bench.lab.question("act1").answer) == pytest.approx(47.3, abs=0.5) and bench.lab.question("act1").right.id == "edge"
    everywhere = replace(pairs, bridge=pairs.link)
    monkeypatch.setitem(claims.NAMESPACE, "box", lambda name: everywhere if name == "a100_pairs" else plain(name))
    assert bench.lab.question("act1").right.id == "same" and bench.lab.question("act1_reflection").right.id == "pcie_none"
    step = claims.NAMESPACE["placed_step"]
    dgx = box("dgx_h100")
    fast = replace(dgx, nic=replace(dgx.nic, achieved=8 * dgx.nic.achieved), network_start=0.0)
    monkeypatch.setitem(claims.NAMESPACE, "placed_step", lambda model, _, *rest, **more: step(model, fast, *rest, **more))
    assert bench.lab.question("act2").right.id in ("p35", "p66")
    slow = replace(dgx, nic=replace(dgx.nic, achieved=dgx.nic.achieved / 1000), network_start=0.0)
    monkeypatch.setitem(claims.NAMESPACE, "placed_step", lambda model, _, *rest, **more: step(model, slow, *rest, **more, overlap=0.0))
    assert bench.lab.question("act2_reflection").answer in ("tensor", "data", "same")


def test_the_ledger_keeps_what_later_labs_start_from(page):
    page.first_act("edge")
    page.predict("act2", "p90", 3, estimate=40.0)
    page.reload().reflect("act2", "data")
    page.reload()
    page.send("context", value="h100_sxm")
    page.turn("act2", tensor=4, nics=8, boxes=2)
    page.turn("act1", ranks=16, nics=4)
    page.save()
    design = page.ledger.design(SLUG)
    at = box("dgx_h100")
    assert (design["box"], design["boxes"], design["nics"], design["tensor"], design["data"]) == ("dgx_h100", 2, 8, 4, 4)
    assert (design["ranks"], design["beta_bytes_per_s"], design["alpha_s"]) == (16, 4 * at.nic.achieved, pytest.approx(30 * 14e-6))
    assert design["alpha_step_s"] == 14e-6
    assert design["host_bytes_per_s"] == at.bridge.achieved and design["constraint_hit"] is None
    assert 0 < design["tensor_share"] <= design["communication_share"] < 0.25
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (24, True, True)


@pytest.fixture
def run(monkeypatch):
    """A gigabyte a second at every step but the cache, and a millisecond to start."""
    rows = [
        case_row(
            way,
            label,
            {"bytes": size},
            measured.timing(1e-3 if size == staircase_trial.SMALL else size / (1e10 if way == "cache" else 1e9)),
        )
        for way, (label, _) in staircase_trial.STEPS.items()
        for size in staircase_trial.sizes(way)
    ]
    monkeypatch.setitem(measured.ROWS, "staircase", rows)


def test_the_learners_own_staircase(page, run):
    measured.keep(page.ledger, SLUG, "staircase")
    page.reload().first_act()
    told = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    assert page.slots("act1.here_staircase", told)["memory"] == "1 GB/s"
    bars = {mark["name"]: mark["x"] for mark in figure(page.piece("act1.instrument").view, "staircase")["marks"] if mark["type"] == "bar"}
    assert bars["here: copy in the cache"] == pytest.approx(1e10) and bars["here: TCP on this machine"] == pytest.approx(1e9)
    assert "1×" in bare(page.parts["act1_claims"].text)


# --- words that were false


def test_one_name_for_each_wire(bench):
    view = bench.piece("act1.instrument").view
    assert {row[1] for row in figure(view, "wires")["table"]["rows"]} == {"NVLink", "PCI Express"}


def test_what_feedback_says_of_an_average_is_the_options_own(page):
    page.predict("act1", "mean", 3)
    assert page.slots("act1.feedback.mean", page.reload().reason("act1")["text"])["mean"] == "110 GB/s"


def test_latency_between_boxes_is_said_to_matter(bench):
    """The question's group: 128 reduce-scatters and gathers of 67 MB, with 65 µs before each and with 5.39."""
    one = case(tensor=16, nics=1)
    near = replace(one, box=replace(one.box, network_start=one.box.start))
    assert one.placed.step.tensor > 1.3 * near.placed.step.tensor
    bench.send("context", value="h100_sxm")
    note = bench.turn("act2", **{**bench.start("act2"), "boxes": 2, "tensor": 16, "nics": 1})["note"]
    said = bench.slots("act2.network_start", note)
    assert said["start"] == "65 µs" and float(said["without"].rstrip("%")) < float(said["share"].rstrip("%"))
    bench.send("context", value="a100_80gb_pcie")


def test_tokens_have_their_unit_once(bench):
    bench.send("context", value="h100_sxm")
    shown = bench.turn("act2", **{**bench.start("act2"), "boxes": 2, "tensor": 2, "nics": 8})["banner"]
    assert "tokens per second" in bare(shown["text"]) and "/s" not in bare(shown["text"])
    bench.send("context", value="a100_80gb_pcie")


def test_latency_that_is_hidden_is_not_said_to_matter(bench):
    bench.send("context", value="h100_sxm")
    note = bench.turn("act2", **{**bench.start("act2"), "boxes": 2, "tensor": 8, "nics": 8})["note"]
    assert bench.shows("act2.network_hidden", note)
    bench.send("context", value="a100_80gb_pcie")
