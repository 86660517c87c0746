"""Lab V2-06 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import Page, bare, cards, figure

from ironlaw import claims
from ironlaw.engine.cluster.collectives import BEST, crossover, time
from ironlaw.errors import BadValue
from ironlaw.kit import settings
from ironlaw.kit.local_runs import newest
from ironlaw.labs.lab_v2_06_collectives import wires_of_context
from ironlaw.labs.lab_v2_06_collectives.act1 import playback, setting
from ironlaw.labs.lab_v2_06_collectives.act2 import buckets, verdict
from ironlaw.ledger import open_ledger
from ironlaw.measure.experiments import collectives_trial
from ironlaw.measure.rows import case_row
from ironlaw.registry.timed_wires import timed_wire
from ironlaw.systems.limits import hit

SLUG = "lab_v2_06_collectives"
TONES = {limit.name: limit.tone for limit in verdict.LIMITS}


def state_of(one):
    return hit(verdict.LIMITS, one).name


def first_act(page, option="link", answer="steps"):
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
        found.predict("act2", "p8", 2, estimate=20.0)
        yield found.reload()


def start_of(page, act):
    return {dial["id"]: dial["value"] for dial in page.piece(f"{act}.instrument").spec["dials"]}


def test_nothing_gives_an_answer_away(page):
    for sealed in ("8.82", "510", "83.7", "480", "They cross at", "wait for steps"):
        assert sealed not in page.text, f"{sealed} is on the page before the first prediction"
    assert page.parts["act1_reveal"] is None and page.piece("act1.instrument").view.get("figures") in (None, [])


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
    start = start_of(bench, "act1")
    crossings = {}
    for pieces, chunk in ((BEST, 256), (setting.FIXED, 1000), (setting.FREE, 256)):
        view = bench.turn("act1", **{**start, "second": "double_tree", "pieces": pieces, "chunk": chunk})
        found = [mark for mark in figure(view, "by-size")["marks"] if mark.get("id") == "crossing"]
        crossings[pieces] = found[0]["x"] if found else None
    bench.turn("act1", **start)
    assert crossings[BEST] == pytest.approx(480e6) and crossings[setting.FREE] == pytest.approx(15.808e9, rel=1e-4)
    assert crossings[setting.FIXED] == pytest.approx(crossover("ring", "double_tree", 256, 5e-6, 50e9, chunk=1e6))


def test_all_lines_are_won_by_other_algorithms(bench):
    start = start_of(bench, "act1")
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
    start = start_of(bench, "act1")
    for name, words in (("ring", "8 messages of 125"), ("binomial", "4 messages of 1")):
        view = bench.turn("act1", **{**start, "first": name, "into": 1})
        shown = figure(view, "steps")
        assert f"; {words}" in shown["text"] and len(shown["table"]["rows"]) == int(words[0])
    bench.turn("act1", **start)


def test_every_dial_of_act_one_changes_what_is_seen(bench):
    start = start_of(bench, "act1")
    base = {"first": "double_tree", "second": "two_level", "pieces": setting.FIXED}
    moves = {
        "ranks": 64, "size": 100, "first": "star", "second": "ring", "lines": "all", "alpha": 50, "beta": 10, "per_node": 4, "pieces": BEST,
        "chunk": 4000, "into": 60,
    }  # fmt: skip
    assert set(moves) == set(start)
    still = str(bench.turn("act1", **{**start, **base}))
    for dial, value in moves.items():
        assert str(bench.turn("act1", **{**start, **base, dial: value})) != still, dial
    odd = bench.turn("act1", **{**start, "first": "rabenseifner", "ranks": 100})
    assert odd["moved"] and "power of two" in odd["error"]["message"]
    bench.turn("act1", **start)


def test_axes_hold_still(bench):
    start = start_of(bench, "act1")
    axes = set()
    for size, alpha in ((0.001, 0.1), (1, 5), (16_000, 1000)):
        view = bench.turn("act1", **{**start, "size": size, "alpha": alpha})
        axes.add(str([(one["x"], one["y"]) for one in (figure(view, name) for name in ("by-size", "steps", "spacetime", "bandwidth"))]))
    assert len(axes) == 1
    bench.turn("act1", **start)


def test_what_others_timed_stands_beside_the_line(bench):
    bench.send("context", value="nvlink")
    view = bench.piece("act1.instrument").view
    dots = [mark for mark in figure(view, "by-size")["marks"] if mark.get("name", "").startswith("ring by NCCL")]
    wire = timed_wire("dgx_h100", 8).wire
    large = [mark for mark in dots if mark["x"] > 1e6]
    assert len(large) == 3 and all(wire.seconds(14, 1.75 * mark["x"]) == pytest.approx(mark["y"], rel=0.16) for mark in large)
    assert bench.shows("act1.timed", view["note"]) and cards(view)["Ring"]
    bench.send("context", value="ports")


@pytest.mark.parametrize("option", ["link", "cross", "steps", "never"])
def test_every_answer_of_act_one_is_met(page, option):
    page.predict("act1", option, 3)
    text = page.reload().parts["act1_reveal"].text
    assert page.shows(f"act1.feedback.{option}", text) and ("Your prediction holds" in bare(text)) == (option == "cross")


# --- the ring of Lab V2-02


def test_an_empty_ledger_is_said(bench):
    bench.send("context", value="saved")
    assert bench.shows("act1.begins_empty", bench.piece("act1.instrument").view["note"])
    bench.send("context", value="ports")


GROUPS = {"model": "llama3_70b", "box": "dgx_h100", "tensor": 8, "micro": 2, "seq": 4096, "zero": 3}


def test_both_acts_begin_with_what_lab_02_saved(page):
    page.ledger.append(wires_of_context.LAB_02, "design", {"ranks": 16, "beta_bytes_per_s": 196e9, **GROUPS})
    page.send("context", value="saved")
    first_act(page.reload()).predict("act2", "p8", 2, estimate=20.0)
    page.reload()
    page.send("context", value="saved")
    dials = start_of(page, "act1")
    assert (dials["ranks"], dials["beta"], dials["alpha"]) == (16, 196, 14)  # sixteen cards are in two boxes
    assert bench_note(page, "act1", "act1.begins")
    second = start_of(page, "act2")
    assert (second["model"], second["tensor"], second["micro"], second["seq"], second["zero"]) == ("llama3_70b", 8, 2, 4096, 1)


def bench_note(page, act, name):
    return page.shows(name, page.piece(f"{act}.instrument").view["note"])


@pytest.mark.parametrize("design", [{"ranks": "many"}, {"ranks": 1, "beta_bytes_per_s": 1e9}, {"ranks": 8, "beta_bytes_per_s": -1}])
def test_a_design_that_can_not_be_used_counts_as_absent(page, design):
    page.ledger.append(wires_of_context.LAB_02, "design", design)
    assert wires_of_context.lab_02(page.lab) is None and buckets.design_02(page.lab) is None
    assert buckets.first_case(page.lab) == buckets.premise()


# --- Act II

# state -> (a setting that shows it, the same with one dial turned)
BOTH_SIDES = {
    "impossible": ({"zero": 0}, {"zero": 1}),
    "latency_bound": ({}, {"algorithm": "double_tree"}),
    "buffers": ({"algorithm": "double_tree", "beta": 20e9}, {"beta": 50e9}),
    "exposed": ({"algorithm": "rabenseifner"}, {"algorithm": "two_level"}),
    "costly": ({"model": "llama3_2_1b", "algorithm": "two_level", "bucket": 1e9, "width": 4}, {"bucket": 1e8}),
    "passed": ({"algorithm": "two_level", "bucket": 1e8}, {"order": buckets.BY_LAYER}),
}


def case(**settings):
    return replace(buckets.premise(), **settings)


@pytest.mark.parametrize("state", BOTH_SIDES)
def test_every_state_is_reached_from_both_sides(bench, state):
    there, away = BOTH_SIDES[state]
    assert state_of(case(**there)) == state != state_of(case(**{**there, **away}))
    shown = settings.verdict(bench.lab, "act2", verdict.LIMITS, case(**there))
    assert shown["tone"] == TONES[state] and bench.shows(f"act2.{state}", shown["text"])


@pytest.mark.parametrize("failing", [{"algorithm": "two_level"}, {"order": buckets.BY_LAYER, "algorithm": "two_level", "bucket": 1e8},
                                     {"model": "llama3_2_1b", "algorithm": "two_level", "bucket": 1e9, "width": 4}])  # fmt: skip
def test_what_would_do_does(failing):
    one = case(**failing)
    fixes = verdict.fixes(one)
    assert state_of(one) != "passed" and fixes
    for changed in fixes.values():
        turned = [name for name in ("bucket", "algorithm", "order", "width") if getattr(changed, name) != getattr(one, name)]
        assert state_of(changed) == "passed" and len(turned) == 1


@pytest.mark.parametrize(
    ("held", "words"),
    [({"zero": 0}, "ZeRO-1"), ({"model": "llama3_70b"}, "tensor parallelism over 8"), ({"model": "llama3_70b", "seq": 32768}, "shorter"),
     ({"model": "llama3_70b", "devices": 8, "tensor": 8}, "smaller")],
)  # fmt: skip
def test_the_layout_that_would_fit(held, words):
    assert words in verdict.layout_that_fits(case(**held))


def test_every_dial_of_act_two_changes_what_is_seen(bench):
    start = start_of(bench, "act2")
    moves = {
        "model": "llama3_2_1b", "devices": 64, "bucket": 100, "algorithm": "two_level", "width": 4, "order": "by_layer", "tensor": 2,
        "micro": 2, "seq": 2048, "zero": 0, "alpha": 1, "beta": 25,
    }  # fmt: skip
    assert set(moves) == set(start)
    still = bench.turn("act2", **start)
    for dial, value in moves.items():
        view = bench.turn("act2", **{**start, dial: value})
        assert (str(view["figures"]), str(view["cards"])) != (str(still["figures"]), str(still["cards"])), dial
    tuned = bench.turn("act2", **{**start, "algorithm": buckets.TUNER})
    assert bench.slots("act2.tuner", tuned["note"])["name"] == "two levels"
    bench.turn("act2", **start)


def test_bars_are_the_buckets(bench):
    drawn = figure(bench.piece("act2.instrument").view, "timeline")
    queue = buckets.premise().step.queue
    bars = [mark for mark in drawn["marks"] if mark["type"] == "bar" and mark["y"] == "sums"]
    after = sum(mark["x1"] - mark["x0"] for mark in bars if mark.get("pattern"))
    assert max(mark["x1"] for mark in bars) == pytest.approx(100) and after == pytest.approx(100 * queue.exposed / queue.end(queue.count))


def test_both_answers_stand_beside_the_shares(bench):
    bars = {mark["name"]: mark["x"] for mark in figure(bench.piece("act2.instrument").view, "said")["marks"]}
    assert bars["ring: you said"] == 8 and bars["double tree: you said"] == 20 and bars["ring"] == pytest.approx(83.7, abs=0.1)


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_registry(page, monkeypatch):
    questions = ("act1", "act1_reflection", "act2", "act2_reflection")
    assert [page.lab.question(name).right.id for name in questions] == ["cross", "steps", "p84", "between"]
    wire = claims.NAMESPACE["interconnect"]
    for factor, act1, act2 in ((8, "steps", "p84"), (1 / 32, "link", "p8")):
        monkeypatch.setitem(
            claims.NAMESPACE, "interconnect", lambda name, by=factor: replace(wire(name), per_direction=by * wire(name).per_direction)
        )
        assert [page.lab.question(name).right.id for name in ("act1", "act2")] == [act1, act2], factor
    step = claims.NAMESPACE["bucketed_step"]
    monkeypatch.setitem(
        claims.NAMESPACE, "bucketed_step", lambda *rest, **more: step(*rest, **{**more, "alpha": 1e-9, "algorithm": "rabenseifner"})
    )
    assert page.lab.question("act2_reflection").right.id == "small"


def test_the_ledger_keeps_what_later_labs_start_from(page):
    first_act(page, "cross")
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
    first_act(page.reload())
    told = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    slots = page.slots("act1.here_collectives", told)
    assert (slots["alpha"], slots["beta"]) == ("1 ms", "50 MB/s")
    page.send("context", value="here")
    dials, view = start_of(page, "act1"), page.piece("act1.instrument").view
    assert (dials["ranks"], dials["alpha"], dials["beta"]) == (8, 1000, 0.05)
    dots = [mark for mark in figure(view, "by-size")["marks"] if mark.get("name") == "here: ring"]
    one = setting.Setting(replace(wires_of_context.question(), ranks=8, alpha=1e-3, beta=collectives_trial.RATE))
    assert dots and all(one.seconds("ring", mark["x"]) == pytest.approx(mark["y"]) for mark in dots)
    assert page.shows("act1.own_machine", view["note"]) and "4.67 ×" in bare(page.parts["act1_claims"].text)  # 14 steps against 3


def test_a_run_that_lacks_its_rows_is_passed_over(page, run, monkeypatch):
    monkeypatch.setitem(measured.ROWS, "collectives", run[:-1])
    measured.keep(page.ledger, SLUG, "collectives")
    assert "collectives" not in newest(page.ledger)
    page.predict("act1", "link", 4)
    page.send("context", value="here")
    assert page.shows("act1.own_machine_open", page.reload().piece("act1.instrument").view["note"])
