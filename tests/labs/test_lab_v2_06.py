"""Lab V2-06 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import bare, cards, figure

from ironlaw import claims
from ironlaw.engine.cluster.collectives import BEST, crossover, time
from ironlaw.errors import BadValue
from ironlaw.kit.local_runs import newest
from ironlaw.labs.lab_v2_06_collectives import wires_of_context
from ironlaw.labs.lab_v2_06_collectives.act1 import local_runs, playback, setting
from ironlaw.labs.lab_v2_06_collectives.act2 import buckets
from ironlaw.measure.experiments import collectives_trial
from ironlaw.measure.rows import case_row
from ironlaw.registry.timed_wires import timed_wire

SLUG = "lab_v2_06_collectives"
SAID = {"act1": "link", "act1_reflection": "steps", "act2": "p8", "estimate": 20.0}


# --- Act I


def test_the_crossing_of_the_story(bench):
    view = bench.piece("act1.instrument").view
    at = crossover("ring", "binomial", 256, 5e-6, 50e9)
    assert cards(view)["They cross at"].startswith("8.82") and cards(view)["Ring"].startswith("2.59")
    marks = {mark.get("id"): mark for mark in figure(view, "by-size")["marks"]}
    assert marks["crossing"]["x"] == pytest.approx(at) and marks["crossing"]["y"] == pytest.approx(
        time("all_reduce", "ring", 256, at, 5e-6, 50e9).total
    )
    assert (marks["prediction"]["x"], marks["truth"]["x"]) == (2.5e5, pytest.approx(at))
    assert (marks["wins-binomial"]["x1"], marks["wins-ring"]["x0"]) == pytest.approx((at, at), rel=0.01)


def test_pieces_move_the_crossing(bench):
    start = bench.start("act1")
    crossings = {}
    for pieces, chunk in ((BEST, 256), (setting.FIXED, 1000), (setting.FREE, 256)):
        view = bench.turn("act1", **{**start, "second": "double_tree", "pieces": pieces, "chunk": chunk})
        found = [mark for mark in figure(view, "by-size")["marks"] if mark.get("id") == "crossing"]
        crossings[pieces] = found[0]["x"] if found else None
    bench.turn("act1", **start)
    assert crossings[BEST] == pytest.approx(480e6) and crossings[setting.FREE] == pytest.approx(15.808e9, rel=1e-4)
    assert crossings[setting.FIXED] == pytest.approx(crossover("ring", "double_tree", 256, 5e-6, 50e9, chunk=1e6))


def test_all_lines_are_won_by_other_algorithms(bench):
    start = bench.start("act1")
    view = bench.turn("act1", **{**start, "lines": setting.ALL})
    won = {mark["id"] for mark in figure(view, "by-size")["marks"] if mark.get("id", "").startswith("wins-")}
    bench.turn("act1", **start)
    assert "wins-ring" not in won and "wins-star" not in won and len(won) > 1


@pytest.mark.parametrize("name", setting.NAMES)
@pytest.mark.parametrize("ranks", [3, 8, 256])
def test_what_is_played_ends_with_the_sum_everywhere(name, ranks):
    one = setting.Setting(replace(wires_of_context.question(), ranks=ranks, per_node=1 if ranks == 3 else 8), first=name)
    if one.why_not(name):
        with pytest.raises(BadValue, match="power of two"):
            one.terms(name)
        return
    play = playback.playback(one, name)
    assert play.ranks <= 8 and play.at(0.0) == (0, 0.0) and play.at(1.0) == (len(play.ends), 0.0)
    over, share = play.at(0.55)
    assert 0 <= share < 1 and (play.ends[over - 1] if over else 0.0) <= 0.55 * play.seconds <= play.ends[over]
    assert play.whole_sums(len(play.ends)) == set(range(play.ranks)) and not play.whole_sums(0)
    drawn = playback.drawn(play, 1.0).to_dict()
    assert f"{play.ranks} of {play.ranks} ranks hold the whole sum" in drawn["text"]


def test_what_is_played_takes_what_the_formula_says():
    one = setting.Setting(replace(wires_of_context.question(), ranks=8, per_node=4))
    for name in ("ring", "binomial", "recursive_doubling", "rabenseifner", "star"):
        assert playback.playback(one, name).seconds == pytest.approx(one.seconds(name))
    levels = setting.Setting(replace(wires_of_context.question(), ranks=8, per_node=4))
    assert playback.playback(levels, "two_level").seconds == pytest.approx(levels.seconds("two_level"))


def test_bytes_on_the_wires_of_a_step(bench):
    """The ring: eight messages of an eighth; the tree's first step: four whole ones."""
    start = bench.start("act1")
    for name, words in (("ring", "8 messages of 125"), ("binomial", "4 messages of 1")):
        view = bench.turn("act1", **{**start, "first": name, "into": 1})
        shown = figure(view, "steps")
        assert f"; {words}" in shown["text"] and len(shown["table"]["rows"]) == int(words[0])


def test_what_others_timed_stands_beside_the_line(bench):
    bench.send("context", value="nvlink")
    view = bench.piece("act1.instrument").view
    dots = [mark for mark in figure(view, "by-size")["marks"] if mark.get("name", "").startswith("ring by NCCL")]
    wire = timed_wire("dgx_h100", 8).wire
    large = [mark for mark in dots if mark["x"] > 1e6]
    assert len(large) == 3 and all(wire.seconds(14, 1.75 * mark["x"]) == pytest.approx(mark["y"], rel=0.16) for mark in large)
    assert bench.shows("act1.timed", view["note"]) and cards(view)["Ring"]


# --- the ring of Lab V2-02


def test_an_empty_ledger_is_said(bench):
    bench.send("context", value="saved")
    assert bench.shows("act1.begins_empty", bench.piece("act1.instrument").view["note"])


GROUPS = {"model": "llama3_70b", "box": "dgx_h100", "tensor": 8, "micro": 2, "seq": 4096, "zero": 3}


def test_what_lab_02_saved_is_a_context_and_an_offer(page):
    page.ledger.append(wires_of_context.LAB_02, "design", {"ranks": 16, "beta_bytes_per_s": 196e9, **GROUPS})
    page.send("context", value="saved")
    page.reload().first_act().predict("act2", "p8", 2, estimate=20.0)
    page.reload()
    page.send("context", value="saved")
    dials = page.start("act1")
    assert (dials["ranks"], dials["beta"], dials["alpha"]) == (16, 196, 14)  # sixteen cards are in two boxes
    assert bench_note(page, "act1", "act1.begins")
    (offer,) = page.piece("act2.instrument").spec["offers"]
    second = offer["dials"]
    assert (second["model"], second["tensor"], second["micro"], second["seq"], second["zero"]) == ("llama3_70b", 8, 2, 4096, 1)
    assert page.start("act2")["model"] == buckets.premise().model


def bench_note(page, act, name):
    return page.shows(name, page.piece(f"{act}.instrument").view["note"])


@pytest.mark.parametrize("design", [{"ranks": "many"}, {"ranks": 1, "beta_bytes_per_s": 1e9}, {"ranks": 8, "beta_bytes_per_s": -1}])
def test_a_design_that_can_not_be_used_counts_as_absent(page, design):
    page.ledger.append(wires_of_context.LAB_02, "design", design)
    assert wires_of_context.lab_02(page.lab) is None and not buckets.offers(page.lab)


# --- Act II


def case(**settings):
    return replace(buckets.premise(), **settings)


def test_what_an_algorithm_can_not_do_and_what_the_tuner_takes(bench):
    odd = bench.turn("act1", first="rabenseifner", ranks=100)
    assert odd["moved"] and "power of two" in odd["error"]["message"]
    assert bench.slots("act2.tuner", bench.turn("act2", algorithm=buckets.TUNER)["note"])["name"] == "two levels"


def test_bars_are_the_buckets(bench):
    drawn = figure(bench.piece("act2.instrument").view, "timeline")
    queue = buckets.premise().step.queue
    bars = [mark for mark in drawn["marks"] if mark["type"] == "bar" and mark["y"] == "all-reduces"]
    after = sum(mark["x1"] - mark["x0"] for mark in bars if mark.get("pattern"))
    assert max(mark["x1"] for mark in bars) == pytest.approx(100) and after == pytest.approx(100 * queue.exposed / queue.end(queue.count))


def test_both_answers_stand_beside_the_shares(bench):
    at = {mark["id"]: mark["x"] for mark in figure(bench.piece("act2.instrument").view, "steps-share")["marks"] if mark["type"] == "rule"}
    assert at == {"prediction": 8, "estimate": 20, "truth": pytest.approx(83.7, abs=0.1)}


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_registry(bench, monkeypatch):
    wire = claims.NAMESPACE["interconnect"]
    for factor, act1, act2 in ((8, "steps", "p84"), (1 / 32, "link", "p8")):
        monkeypatch.setitem(
            claims.NAMESPACE, "interconnect", lambda name, by=factor: replace(wire(name), per_direction=by * wire(name).per_direction)
        )
        assert [bench.lab.question(name).right.id for name in ("act1", "act2")] == [act1, act2], factor
    step = claims.NAMESPACE["bucketed_step"]
    monkeypatch.setitem(
        claims.NAMESPACE, "bucketed_step", lambda *rest, **more: step(*rest, **{**more, "alpha": 1e-9, "algorithm": "rabenseifner"})
    )
    assert bench.lab.question("act2_reflection").right.id == "small"


def test_the_ledger_keeps_what_later_labs_start_from(page):
    page.first_act("cross")
    page.predict("act2", "p84", 3, estimate=40.0)
    page.reload().reflect("act2", "between")
    page.reload()
    page.turn("act1", ranks=64, alpha=10)
    page.turn("act2", algorithm="two_level", bucket=100, devices=256)
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["ranks"], design["alpha_s"], design["beta_bytes_per_s"]) == (64, pytest.approx(1e-5), 50_000_000_000)
    assert design["crossing_bytes"] == pytest.approx(crossover("ring", "binomial", 64, 1e-5, 50e9), abs=1)
    assert (design["model"], design["devices"], design["tensor"], design["data"]) == ("llama3_8b", 256, 1, 256)
    assert (design["algorithm"], design["bucket_bytes"], design["gradient_bytes"], design["zero"]) == ("two_level", 100_000_000, 2, 1)
    assert design["constraint_hit"] is None and 0 < design["exposed_share"] <= 0.05 and 0 < design["latency_share"] < 0.5
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (9e6, True, True)


@pytest.fixture
def run(monkeypatch):
    """A millisecond a step and 50 MB/s: rows as the law makes them, free ones steps alone."""
    rows = []
    for way, by_ranks in collectives_trial.SIZES.items():
        for count, sizes in by_ranks.items():
            for size in sizes:
                for name in collectives_trial.ALGORITHMS:
                    terms = time("all_reduce", name, count, float(size), 1e-3, collectives_trial.RATE)
                    seconds = terms.total if way == collectives_trial.PACED else terms.latency
                    params = {"algorithm": name, "ranks": count, "bytes": size, "steps": round(terms.latency / 1e-3),
                              "busiest_bytes": terms.bandwidth * collectives_trial.RATE}  # fmt: skip
                    rows.append(case_row(way, name, params, measured.timing(float(seconds))))
    monkeypatch.setitem(measured.ROWS, "collectives", rows)
    return rows


def test_the_learners_own_ranks(page, run):
    measured.keep(page.ledger, SLUG, "collectives")
    page.reload().first_act()
    told = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    slots = page.slots("act1.here_collectives", told)
    assert (slots["alpha"], slots["beta"]) == ("1 ms per step", "50 MB/s")
    page.send("context", value="here")
    dials, view = page.start("act1"), page.piece("act1.instrument").view
    assert (dials["ranks"], dials["alpha"], dials["beta"]) == (8, 1000, 0.05)
    dots = [mark for mark in figure(view, "by-size")["marks"] if mark.get("name") == "here: ring"]
    one = setting.Setting(replace(wires_of_context.question(), ranks=8, alpha=1e-3, beta=collectives_trial.RATE))
    assert dots and all(one.seconds("ring", mark["x"]) == pytest.approx(mark["y"]) for mark in dots)
    assert page.shows("act1.own_machine", view["note"]) and "4.67×" in bare(page.parts["act1_claims"].text)  # 14 steps against 3


def test_a_run_that_lacks_its_rows_is_passed_over(page, run, monkeypatch):
    monkeypatch.setitem(measured.ROWS, "collectives", run[:-1])
    measured.keep(page.ledger, SLUG, "collectives")
    assert "collectives" not in newest(page.ledger)
    page.predict("act1", "link", 4)
    page.send("context", value="here")
    assert page.shows("act1.own_machine_open", page.reload().piece("act1.instrument").view["note"])


def test_where_steps_cost_as_much_as_bytes(page):
    """N·α·β: 256 ranks, 5 µs and 50 GB/s are 64 MB, the option's own figure."""
    page.predict("act1", "steps", 3)
    assert page.slots("act1.feedback.steps", page.reload().reason("act1")["text"])["all_steps"] == "64 MB"


def test_no_step_takes_zero_seconds():
    assert local_runs.step_words(0.0) == "steps too short to tell from noise" and "5" in local_runs.step_words(5e-6)


def test_a_ring_of_lab_v2_02_keeps_its_latency(page):
    """PCI Express: 10.2 µs a step there and here."""
    page.ledger.append(
        "lab_v2_02_interconnect", "design", {"ranks": 4, "beta_bytes_per_s": 23.63e9, "alpha_s": 61e-6, "alpha_step_s": 1.0232e-5}
    )
    page.reload()
    assert wires_of_context._saved(page.lab).alpha == 1.0232e-5


def test_the_chunks_take_what_the_steps_take(bench):
    """On 8 of the ranks: a ring of 14 steps with an eighth of the message each, a tree of 6 with all of it."""
    view = bench.piece("act1.instrument").view
    (race,) = view["motions"]
    dials = bench.piece("act1.instrument").state["dials"]
    alpha, rate, size = 1e-6 * dials["alpha"], 1e9 * dials["beta"], 1e6 * dials["size"]
    both = [14 * (alpha + size / 8 / rate), 6 * (alpha + size / rate)]
    assert race["end"] == pytest.approx(max(both), rel=1e-5) and len(race["tokens"]) == 8 * 2 * 2 + 112 + 14 and race["caption"]
