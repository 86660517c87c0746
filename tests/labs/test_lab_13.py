"""Lab 13 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import bare, cards, figure

from ironlaw import claims, hardware
from ironlaw.engine.device import memory
from ironlaw.engine.serving.batching import batch_server
from ironlaw.engine.serving.queues import md1, mm1, mmc
from ironlaw.labs.lab_13_line.act1 import slots as act1_slots
from ironlaw.labs.lab_13_line.act1 import system
from ironlaw.labs.lab_13_line.act2 import server, verdict
from ironlaw.measure.experiments import batches, line_trial
from ironlaw.registry.workloads import workload
from ironlaw.systems.limits import hit

SLUG = "lab_13_line"
SAID = {"act1": "half", "act1_reflection": "same", "act2": "x6"}
H200, ORIN = "h200_sxm", "orin_nx_16gb"


def case(**settings):
    return server.Case(hardware(settings.pop("device", H200)), **settings)


# --- Act I


def test_the_two_cuts_agree_to_the_last_digit_on_any_dials(bench):
    settings = [
        {"arrivals": "bursts", "burst": 50, "rate": 100.0, "mean": 0.05, "servers": 4}, {"arrivals": "regular", "service": "fixed"},
        {"service": "two", "order": "lifo", "servers": 3}, {"service": "lognormal", "sigma": 1.5, "order": "random", "requests": 200},
        {"order": "shortest", "rate": 50.0, "mean": 0.5, "servers": 8, "seed": 3},
    ]  # fmt: skip
    start = bench.start("act1")
    seen = set()
    for change in settings:
        view = bench.turn("act1", **{**start, **change})
        lines = bare(view["formula"])
        columns, rows = (
            part.split("=")[1].strip().split(" ")[0] for part in lines.replace("rows:", "|rows:").replace("L =", "|L =").split("|")[:2]
        )
        assert columns == rows and "." in columns
        seen.add(columns)
        assert figure(view, "staircase")["note"].startswith("the first 60 of")
    assert len(seen) == len(settings)


def test_a_window_in_the_middle_names_its_edges(bench):
    start = bench.start("act1")
    view = bench.turn("act1", **{**start, "window": "cut", "opens": 60, "closes": 20, "requests": 60})
    assert "Cut off at the edges" in cards(view) and bench.shows("act1.edges", view["note"])
    rules = [mark["label"] for mark in figure(view, "staircase")["marks"] if mark["type"] == "rule"]
    assert rules == ["opens", "closes"]  # whichever dial is higher
    view = bench.turn("act1", **{**start, "rate": 1000.0, "mean": 60.0, "order": "lifo"})
    assert bench.shows("act1.overloaded", view["note"]) and bench.shows("act1.other_order", view["note"])


def test_your_answer_is_a_length_beside_the_true_one(bench):
    marks = {mark["role"]: mark["points"] for mark in figure(bench.piece("act1.instrument").view, "staircase")["marks"] if mark.get("role")}
    lengths = {role: end[0] - start[0] for role, (start, end) in marks.items()}
    assert lengths == {"prediction": pytest.approx(0.5), "truth": pytest.approx(24)}


def test_the_dashboard_is_the_system_that_the_dials_begin_at():
    run = system.System(requests=60_000).run
    assert run.in_flight == pytest.approx(system.IN_FLIGHT, rel=1e-3) and run.rate / system.TICK == pytest.approx(system.RATE, rel=1e-3)
    assert float(run.mean) * system.TICK == pytest.approx(24.0)


# --- Act II


def test_the_questions_own_server(bench):
    view = bench.piece("act2.instrument").view
    assert view["banner"]["title"] == "It works, but more will come" and cards(view)["P99"] == "7.1 ms" and cards(view)["Loaded"] == "55.5%"
    names = {mark.get("id") for mark in figure(view, "by-rate")["marks"]}
    assert {"point", "prediction", "truth", "target"} <= names
    readings = bench.lab.readouts["act2"]
    assert readings["constraint_hit"] is None and readings["policy"] == "waiting" and readings["rate"] == 10_000


def state(one):
    return hit(verdict.LIMITS, one).name


def test_headroom_meets_the_target_and_a_little_more_does_not():
    calm = case(target=0.012)
    assert 1_000 < calm.headroom < calm.capacity
    assert calm.at(0.97 * calm.headroom, 20_000).p99 <= calm.target
    assert replace(calm, target=0.001).headroom == 0.0


def test_one_by_one_is_exact_and_batches_are_the_engines():
    alone = case(policy="one", rate=200.0)
    exact = md1(200.0, alone.alone)
    assert (alone.outcome.mean, alone.outcome.p99) == (exact.mean, exact.quantile(0.99))
    split = case(policy="one", rate=400.0, replicas=2, line="split")
    assert split.outcome.p99 == pytest.approx(exact.quantile(0.99))
    shared = case(rate=4_000.0, replicas=2)
    engine = batch_server(4_000.0, shared.times, 64, replicas=2, n=25_600)
    assert shared.outcome.p99 == engine.quantile(0.99) and shared.load == engine.load
    assert case(policy="one", rate=400.0, replicas=2).outcome.p99 < split.outcome.p99


def test_a_line_without_end_has_no_distribution(bench):
    start = bench.start("act2")
    endless = bench.turn("act2", **{**start, "rate": 100_000.0})
    assert cards(endless)["P99"] == "unbounded" and len(endless["figures"]) == 2


@pytest.mark.parametrize("device", ["a100_80gb_sxm", ORIN])
def test_axes_hold_still_while_the_rate_moves(device):
    from ironlaw.labs.lab_13_line.act2.figures import SPAN
    from ironlaw.pictures.ends import half_decades

    ends = {half_decades(0.9 * c.alone, SPAN * c.alone) for c in (case(device=device, rate=rate) for rate in (1.0, 100.0, 1e5))}
    assert len(ends) == 1


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_their_premises(bench, monkeypatch):
    assert bench.lab.question("act1").right.id == "w" and bench.lab.question("act1_reflection").right.id == "same"
    assert bench.lab.question("act2").right.id == "x1" and bench.lab.question("act2_reflection").right.id == "six"
    engine = claims.NAMESPACE["batch_server"]
    monkeypatch.setitem(claims.NAMESPACE, "batch_server", lambda rate, times, most, **more: engine(rate / 40, times, 1, **more))
    assert bench.lab.question("act2").right.id in ("x10", "x100")  # one by one, a load of nearly 1 against one of a tenth
    monkeypatch.setitem(claims.NAMESPACE, "mmc", lambda rate, service, servers: mm1(rate / servers, service))
    assert bench.lab.question("act2_reflection").right.id == "one"
    order = {"fifo": "fifo", "lifo": "shortest"}
    whole, spread = claims.NAMESPACE["simulate"], claims.NAMESPACE["lognormal"](1, 4_000, 1.0, 1.0)
    monkeypatch.setitem(claims.NAMESPACE, "simulate", lambda arrivals, _, servers, name: whole(arrivals, spread, servers, order[name]))
    assert bench.lab.question("act1_reflection").right.id == "falls"
    monkeypatch.setitem(claims.NAMESPACE, "little", lambda in_flight, rate: in_flight * rate)
    assert bench.lab.question("act1").right.id == "lw"


def test_the_truths_on_screen_are_the_keys(bench):
    assert float(bench.lab.question("act2_reflection").answer) == pytest.approx(mm1(0.9, 1).quantile(0.99) / mmc(7.2, 1, 8).quantile(0.99))
    now, again = (replace(case(), rate=rate).outcome.p99 for rate in (1_000.0, 10_000.0))
    assert float(bench.lab.question("act2").answer) == pytest.approx(again / now, rel=0.01)


def test_the_ledger_keeps_what_lab_14_starts_from(page):
    page.first_act("w")
    page.predict("act2", "x1", 3)
    page.reload().reflect("act2", "six")
    page.reload()
    page.turn("act2", rate=4_000.0, policy="timeout", timeout=3, most=32)
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["policy"], design["rate"], design["most"], design["replicas"]) == ("timeout", 4_000.0, 32, 1)
    assert design["timeout_s"] == pytest.approx(0.003) and design["target_p99_s"] == pytest.approx(0.02)
    assert design["p99_s"] > design["mean_s"] > 0 and 0 < design["load"] < design["busy"] <= 1 and design["constraint_hit"] is None
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (24.0, True, True)


def stream(name, load, p99, batch=1.0, busy=0.5):
    about = {"mean_s": p99 / 2, "p99_s": p99, "in_flight": 2.0, "rate": 400.0, "service_s": 2e-3, "cv2": 0.01, "busy": busy, "load": load}
    return {"kind": "case", "name": name, "label": f"{name} {load}", "params": {**about, "batch": batch}, **measured.timing(p99 / 2)}


@pytest.fixture
def runs(monkeypatch):
    monkeypatch.setitem(measured.ROWS, "line", [stream(line_trial.NAME, load, 0.02) for load in line_trial.LOADS])
    sizes = [
        {"kind": "case", "name": batches.TIME, "label": f"{n}", "params": {"batch": n}, **measured.timing(1e-3)} for n in batches.SIZES
    ]
    streams = [stream(name, load, 0.004, 6.0, 0.97) for name, load, _ in batches.STREAMS]
    monkeypatch.setitem(measured.ROWS, "batches", sizes + streams)


def test_what_was_measured_here_is_said_and_stands_beside_the_claims(page, runs):
    measured.keep(page.ledger, SLUG, "line", "batches")
    page.reload().first_act()
    page.predict("act2", "x10", 2)
    page.reload()
    told = " ".join(item["result"] for act in ("act1", "act2") for item in page.piece(f"{act}.measure").view["items"])
    assert page.shows("act1.here_line", told) and page.shows("act2.here_batches", told)
    own = [m for m in figure(page.piece("act1.instrument").view, "law")["marks"] if m.get("colour") == "here"]
    assert len(own) == len(line_trial.LOADS) and all(m["type"] == "point" for m in own)
    own = [m["y"] for m in figure(page.piece("act2.instrument").view, "by-rate")["marks"] if m.get("colour") == "here"]
    assert own == [pytest.approx(own[0])] * len(batches.STREAMS)
    assert "10×" in bare(page.parts["act1_claims"].text)  # a P99 of 20 ms over a service of 2
    assert "1.25%" in bare(page.parts["act2_claims"].text)  # 400 a second of 32 every millisecond


def test_a_run_without_its_figures_is_passed_over(page, runs):
    measured.ROWS["line"][0]["params"]["rate"] = "many"
    del measured.ROWS["batches"][-1]["params"]["p99_s"]
    measured.keep(page.ledger, SLUG, "line", "batches")
    page.reload()
    assert page.lab.local_run("line") is None and page.lab.local_run("batches") is None


@pytest.mark.parametrize("model", server.MODELS)
def test_memory_for_any_batch_comes_from_two(model):
    """Against the graph of that batch itself."""
    graph = workload(model, batch=16, dtype="fp16", **server.MODELS[model])
    assert server.needs(model, "fp16", 16).total == pytest.approx(memory.footprint(graph).total)


def test_the_reflection_quotes_the_law_not_a_short_run():
    said = act1_slots.reflection()
    assert (said["mean"], said["first"], said["last"], said["apart"]) == ("3", "11.4", "30.9", "2.7")


def test_the_dots_are_the_run_of_the_staircases(bench):
    """Two a second for 24 s each at 64 servers: after 60 s there are 48, and none waits."""
    (line,) = bench.piece("act1.instrument").view["motions"]
    last = {counter[0]: counter[1][-1][1] for counter in line["counters"]}
    assert (last["waiting"], last["being served"]) == (0, 48) and "48 are being served" in line["title"] and line["caption"]
