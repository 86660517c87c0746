"""Measure it here: the lock, the button, what is kept and what is told of it."""

import sys
import time
from dataclasses import replace

import pytest
from as_browser import send

from ironlaw.kit import claim_panel, experiment, local_runs
from ironlaw.kit.measured_run import Measured
from ironlaw.kit.process import JobRunner
from ironlaw.measure.devices.choice import available
from ironlaw.measure.experiments import experiment_list
from ironlaw.measure.rows import figure_row
from ironlaw.measure.software_host import machine

OPS = {"kind": "launch", "op": "add", "wall_s": 2e-6, "low_s": 1.9e-6, "high_s": 2.4e-6, "sync_s": 3e-6, "sync_low_s": 3e-6,
       "sync_high_s": 4e-6, "samples": 40}  # fmt: skip
NOTHING = OPS | {"op": "nothing"}  # a run without it is not complete


def payload(**more):
    return {
        "experiment": "tiny_ops", "library": "NumPy 2.1.3", "rows": [OPS, NOTHING], "machine": machine(), "software": {"python": "3.11.2"},
        "noise": {"noisy": False, "reasons": []}, **more,
    }  # fmt: skip


@pytest.fixture
def desk():
    made = JobRunner()
    yield made
    made.close()


@pytest.fixture
def page(ledger, desk, monkeypatch):
    """A piece on a ledger, whose experiment is a script that waits to be told to go on."""
    begin = "import json, time\nprint(json.dumps(dict(share=0.25, doing='add')), flush=True)\n"
    end = f"\nprint(json.dumps(dict(result={payload()!r})))"

    class Page:
        landed, allowed, seconds = 0, True, 0.0

        def __init__(self):
            self.piece = experiment.measure(
                "act1", [experiment.Item("tiny_ops", lambda found: f"It took {found.rows[0]['wall_s']:g}.")], self.found,
                lambda result: ledger.append("_template", "measured", result), self.land, lambda: self.allowed, desk,
            )  # fmt: skip

        def found(self, name):
            return local_runs.newest(ledger).get(name)

        def land(self):
            self.landed += 1

        def press(self, what="start", which="tiny_ops"):
            return send(self.piece, do=what, which=which, act=self.piece.state["act"] + 1)["items"][0]

        def poll(self):
            return send(self.piece, poll=1)["items"][0]

        def until(self, condition):
            end = time.monotonic() + 120  # a loaded machine is slow, not wrong
            while not condition(item := self.poll()):
                assert time.monotonic() < end, item
                time.sleep(0.02)
            return item

    made = Page()
    monkeypatch.setattr(experiment, "command", lambda name: [sys.executable, "-c", f"{begin}time.sleep({made.seconds}){end}"])
    return made


def test_before_anything_was_measured_it_says_what_it_would_do(page):
    item = page.piece.view["items"][0]
    assert item["title"] == "A thousand tiny ops" and "1,000 ops" in item["runs"] and item["seconds"].endswith(" s")
    assert not item["running"] and not item["result"] and not item["error"] and not page.piece.view["running"]


def test_nothing_is_measured_before_the_prediction(page, desk):
    page.allowed = False
    assert "Commit your prediction first" in page.press()["error"] and desk.now is None


def test_a_run_is_shown_kept_and_told(page, ledger):
    page.seconds = 0.3
    assert page.press()["running"]
    assert page.until(lambda item: not item["running"] or item["running"]["doing"] == "add")["running"]["share"] == 0.25
    item = page.until(lambda item: not item["running"])
    assert [event.payload["rows"] for event in ledger.events("_template", "measured")] == [[OPS, NOTHING]]
    assert page.landed == 1
    for words in ("2 µs", "1.9 µs to 2.4", "40", "NumPy 2.1.3", "Python 3.11.2", "quiet enough", "It took 2e-06."):
        assert words in item["result"].replace("\u202f", " ").replace('<span class="il-unit">', "").replace("</span>", ""), words
    again = experiment.measure(
        "act1", [experiment.Item("tiny_ops", lambda found: "x")], page.found, print, page.land, lambda: True, JobRunner()
    )
    assert "2.4" in again.view["items"][0]["result"]  # a reload finds it in the ledger


def test_cancelling_keeps_nothing_and_it_can_be_started_again(page, ledger):
    page.seconds = 60
    page.press()
    page.until(lambda item: item["running"]["doing"] == "add")
    item = page.press("cancel")
    assert item["cancelled"] and not item["running"] and ledger.events("_template", "measured") == []
    page.seconds = 0.0
    page.press()
    assert page.until(lambda item: not item["running"])["result"]


def test_an_error_says_what_to_do_next(page, monkeypatch):
    monkeypatch.setattr(experiment, "command", lambda name: [sys.executable, "-c", "raise SystemExit('no memory left')"])
    page.press()
    item = page.until(lambda item: not item["running"])
    assert "no memory left. Try again" in item["error"] and not item["result"]


def test_the_machine_itself_can_be_measured_and_then_asks_for_a_reload(ledger, desk, monkeypatch):
    known, kept = [], []
    item = experiment.Machine(lambda: bool(known))
    piece = experiment.measure("act1", [item], lambda name: None, kept.append, lambda: known.append(1), lambda: True, desk)
    assert piece.view["items"][0]["title"].startswith("This machine") and not piece.view["items"][0]["result"]
    done = "import json; print(json.dumps(dict(result=dict(rows=56))))"
    monkeypatch.setattr(experiment, "command", lambda name: [sys.executable, "-c", done] if name == "this_machine" else [])
    item.why = ""
    send(piece, do="start", which="this_machine", act=1)
    end = time.monotonic() + 120  # a loaded machine is slow, not wrong
    while send(piece, poll=1)["running"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    shown = piece.view["items"][0]
    assert "now one of the contexts" in shown["result"] and not kept  # it is stored as this machine, not in the ledger


def test_a_run_of_another_lab_is_named_and_can_be_cancelled_from_here(page, desk):
    """It was only refused, with the run's short name, and there was no way to end it but to find its lab."""
    desk.start("ledger", [sys.executable, "-c", "import time; time.sleep(600)"], lambda result: None)
    page.press()
    view = page.piece.view
    assert view["running"] and view["elsewhere"] == {"id": "ledger", "title": experiment_list.experiment("ledger").title}
    page.press("cancel", "ledger")
    assert desk.now is None and page.piece.view["elsewhere"] is None and not page.piece.view["running"]
    page.press()
    assert desk.running("tiny_ops")


def test_what_no_browser_of_ours_sends_is_refused(page, desk):
    assert desk.now is None
    view = send(page.piece, do="start", which="rm -rf", act=1)
    assert view["items"][0]["error"] == "" and "no experiment 'rm -rf'" in view["error"]["message"] and desk.now is None
    assert page.press("dance")["running"] is None and desk.now is None


def test_a_noisy_machine_is_said(ledger):
    reasons = ["other processes took 40% of the processors (limit 10%)"]
    ledger.append("_template", "measured", payload(noise={"noisy": True, "reasons": reasons}))
    found = local_runs.newest(ledger)["tiny_ops"]
    text = experiment.table(found)
    assert found.noisy and "Noisy: other processes took 40%" in text and "measure again" in text and "c-warn" in text


def test_another_machine_s_figures_are_not_this_one_s(ledger):
    ledger.append("_template", "measured", payload(machine={**machine(), "cpu": "PDP-11"}))
    assert local_runs.newest(ledger) == {}
    ledger.append("other_lab", "measured", payload())
    first = ledger.append("_template", "measured", payload(library="NumPy 9"))
    assert local_runs.newest(ledger)["tiny_ops"].library == "NumPy 9" and local_runs.newest(ledger)["tiny_ops"].time == first.time


def test_rows_are_found_by_what_they_say():
    rows = tuple({"kind": "function", "mode": mode, "params": {"ops": n}, "wall_s": n} for n in (1, 3) for mode in ("eager", "blocked"))
    found = Measured("pointwise_chain", "x", rows, {}, {}, {}, "2026-11-15T08:00:00Z")
    assert found.row(ops=3, mode="blocked")["wall_s"] == 3 and found.row(ops=7) is None and found.ways() == ["blocked"]
    assert found.source == "measured here, x, 2026-11-15"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"kind": "launch", "op": "relu"}, "ReLU, each of 1,000"),
        ({"kind": "op", "params": {"n": 2048, "dtype": "fp32"}}, "FP32, N = 2,048"),
        ({"kind": "model", "mode": "graphs", "params": {"batch": 8, "dtype": "fp16"}}, "batch 8, FP16, replayed as a graph"),
        ({"kind": "function", "mode": "blocked", "params": {"shape": [1024, 768]}}, "1,024 × 768, in one pass, block by block"),
        ({"kind": "function", "mode": "eager", "params": {"shape": [1, 1], "ops": 6}}, "6 ops, op by op"),
    ],
)
def test_rows_have_names(row, said):
    assert experiment.label(row) == said


def test_on_a_gpu_the_waited_calls_are_a_line_of_their_own():
    found = local_runs.Measured("tiny_ops", "x", (OPS,), {"backend": "cuda"}, {}, {}, "2026-11-15T08:00:00Z")
    assert [(label, key) for label, _, key in experiment.lines(found)] == [
        ("add, each of 1,000", "wall_s"), ("add, each of 1,000, waited for", "sync_s"),
    ]  # fmt: skip
    assert local_runs.span(OPS, "sync_s").replace("\u202f", " ") == "3 µs to 4 µs"


def test_claims_gain_a_column_once_something_was_measured():
    plain = claim_panel.panel(["three_op_fusion_5x", "a100_bandwidth"])
    told = claim_panel.panel(
        ["three_op_fusion_5x", "a100_bandwidth"], {"three_op_fusion_5x": claim_panel.LocalFigure(1.25, "×", "NumPy, here")}
    )
    assert "Measured here" not in plain and plain == claim_panel.panel(["three_op_fusion_5x", "a100_bandwidth"], {})
    assert told.count('<span class="il-label">Measured here</span>') == 1 and "NumPy, here" in told and "1.25" in told


def test_every_experiment_can_be_offered():
    for name in experiment_list.EXPERIMENTS:
        item = experiment.Item(name, str)
        assert item.title and item.runs.endswith(".") and item.seconds > 0
        assert bool(item.why) == (name == "ds_cnn" and not available("torch"))


def test_both_ends_of_a_span_have_their_unit_and_equal_ends_stand_once():
    """A page wrote "755,000 to 755 kFLOP" and "128 to 128"."""
    assert local_runs.span({"low": 755e3, "high": 755e3, "unit": "FLOP"}, "value") == "755\u202fkFLOP"
    assert local_runs.span({"low": 700e3, "high": 755e3, "unit": "FLOP"}, "value") == "700\u202fkFLOP to 755\u202fkFLOP"
    assert local_runs.span({"low": 128.0, "high": 128.0, "unit": ""}, "value") == "128"


def test_counts_have_no_interval_and_no_noise():
    rows = tuple(figure_row("weights", "weights", value, value, value, "B", 1) for value in (33_600_000.0, 4.0))
    counted = local_runs.Measured("ledger", "NumPy", rows, {"cpu": "x"}, {}, {"noisy": True, "reasons": ["busy"]}, "2026-11-15T08:00:00Z")
    shown = experiment.Item("ledger", lambda run: "As computed.").result(counted)
    assert "95%" not in shown and " to " not in shown and "Noisy" not in shown and "noisy" not in shown and experiment.COUNTED in shown
    drawn = replace(counted, rows=(figure_row("share", "share", 33_600_000.0, 3e6, 4e7, "B", 9),))
    shown = experiment.Item("ledger", lambda run: "As computed.").result(drawn).replace("\u202f", " ")
    assert "3 MB to 40 MB" in shown and "Too noisy to tell" in shown and shown.index("Too noisy") < shown.index("As computed")
    assert shown.index("As computed") < shown.index("<details")  # the sentence first, the rows in a fold
