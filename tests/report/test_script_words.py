"""A script's captures and its real steps, from what its process would send: sizes, wires, what is refused, and what is said of it."""

import io
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

import ironlaw as il
from ironlaw import worker
from ironlaw.cli.show import analysis_text, real_steps_text
from ironlaw.engine.device.work import BYTES, COLLECTIVE, RANKS
from ironlaw.errors import BadValue
from ironlaw.systems import captures, script_captures
from ironlaw.systems.script_captures import IDLE, RealSteps, capture_script, real_steps, with_wires
from ironlaw.tracing.graph_json import to_json

GPT2 = il.workload("gpt2", batch=2)
STEP = replace(GPT2, settings={**GPT2.settings, "notes": ["a way was taken"]})
ASKED = {
    "target": "pkg.train",
    "dtype": "",
    "weights": ("own",),
    "on": (),
    "limit": 60.0,
    "arguments": ("--lr", "1"),
    "steps": 3,
    "world": 0,
}


def asked(**changes):
    return SimpleNamespace(**{**dict.fromkeys(IDLE, ""), **ASKED, **changes})


@pytest.fixture
def process(monkeypatch):
    """What the worker is asked; `fails`: at which times of the batch it can't be captured."""
    seen = SimpleNamespace(requests=[], fails=())

    def run(job, request, *, name, limit_s, on_part):
        seen.requests.append(request)
        if request["times"] in seen.fails:
            raise BadValue("the script has no room for that")
        if request["progress"]:
            on_part({"ops": 100})
        on_part({"graph": to_json(STEP if request["times"] == 1 else il.workload("gpt2", batch=8))})
        return {"": {"batch": 2, "tokens": None, "kept": None, "positions": None, "taken": {"steps": 2, "numbers": {}}}}

    monkeypatch.setattr(worker, "run", run)
    return seen


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_script_is_captured_at_its_own_batch_and_at_four_times_that(process, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    found = capture_script(asked())
    first, larger = process.requests
    assert (first["times"], first["quiet"], larger["times"], larger["quiet"]) == (1, False, 4, True)
    assert first["module"] and first["arguments"] == ["--lr", "1"] and first["steps"] == 3 and not first["real"]
    assert larger["steps"] == 2 and first["numbers"] is None and larger["numbers"] == {}
    assert found.batch == 2 and found.main.settings["notes"] == ["a way was taken"]
    assert [one.what for one in found.growths] == ["batch"] and not found.unsized
    assert screen.getvalue().startswith("\rcapturing: 100 operators") and screen.getvalue().endswith(" \r")  # and wiped


def test_a_larger_batch_that_can_t_be_captured_is_a_reason_and_no_error(process):
    process.fails = (4,)
    (why,) = capture_script(asked()).unsized
    assert "because finding it takes the call at 8 too" in why and "the script has no room for that" in why


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 4}, "pkg.train is a script and defines its own inputs; give it its own arguments after --, not `batch`"),
        ({"target": "nowhere.py"}, "there is no file nowhere.py; give the path of a script, or FILE.py:NAME"),
    ],
)
def test_what_a_script_does_not_take(changes, words):
    with pytest.raises(BadValue, match=words):
        capture_script(asked(**changes))


def test_what_ranks_do_together_is_said_for_each_machine(process):
    found = capture_script(asked())
    assert with_wires(found, ()) is found  # one rank alone
    attrs = {COLLECTIVE: "all_reduce", BYTES: 3e6, RANKS: 8}
    first, *others = STEP.ops
    spread = [replace(one, attrs={**one.attrs, **attrs}) for one in (first, others[0])]
    graph = replace(STEP, ops=(*spread, *others[1:]))
    found = replace(found, graphs=dict.fromkeys(found.graphs, graph))
    machines = [il.hardware("h100_sxm"), il.hardware("t4")]
    notes = with_wires(found, machines).main.settings["notes"]
    assert notes[0] == "8 ranks work together in a step: all_reduce ×2, 6 MB in all" and notes[3] == "a way was taken"
    assert notes[1].startswith("h100_sxm: collectives run over ")
    assert notes[2] == "t4: the registry knows no box for that, so the times hold no wire"


def test_real_steps_are_asked_of_the_scripts_own_process(monkeypatch):
    seen = []
    took = {"steps": 20, "seconds": 0.5, "device": "cpu", "peak_bytes": None}
    monkeypatch.setattr(worker, "run", lambda *asked, **more: seen.append((asked, more)) or took)
    assert real_steps(asked(target="train.py", real=20)) == RealSteps(20, 0.5, "cpu", None)
    ((job, request), more) = seen[0]
    assert job == script_captures.REAL and request == {"place": "train.py", "module": False, "arguments": ["--lr", "1"], "steps": 20}
    assert more == {"name": "train.py", "limit_s": 60.0}


@pytest.fixture(scope="module")
def analysis():
    return il.analyze(GPT2, on=["h200", "t4"], modes=["eager"])


def said(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_real_steps_beside_the_prediction_of_the_gpu_that_ran_them(analysis, capsys):
    one = analysis.predictions[0]
    real = RealSteps(20, 2 * float(one.seconds), "NVIDIA H200", float(one.memory.total) / 3)
    real_steps_text.report(real, analysis.predictions)
    words = said(capsys)
    assert "Trained for real on NVIDIA H200" in words and "the mean of 20 steps" in words and "PyTorch held" in words
    assert "Predicted for h200_sxm, eager:" in words and "0.5 times what it took; memory 3 times." in words and "t4" not in words
    assert [one.hardware.slug for one in analysis.predictions if real_steps_text.is_here(one, "cpu")] == []


def test_real_steps_where_no_machine_is_this_one_unknown_operators_and_the_first_notes(analysis, capsys):
    settings = {**GPT2.settings, "unknown": {"aten.odd": 3}, "notes": [f"way {i}" for i in range(6)]}
    shown = replace(analysis, graph=replace(analysis.graph, settings=settings), real=RealSteps(1, 0.25, "cpu", None))
    analysis_text.report(shown, 3)
    words = said(capsys)
    assert "Trained for real on cpu: 250 ms per step, the mean of 1 step" in words and real_steps_text.NOT_HERE in words
    assert "! unknown operators, counted by their tensors alone: aten.odd ×3" in words
    assert "note: way 3" in words and "way 4" not in words and "note: 2 more of this kind with --notes" in words


def test_settings_as_text_as_pairs_and_as_a_mapping():
    assert [captures.read_settings(one) for one in ("layers=4", {"layers": 4}, [("layers", 4)])] == [(("layers", 4),)] * 3
    assert captures.read_setting("act=gelu") == ("act", "gelu")
    with pytest.raises(BadValue, match="'layers' is not a setting; write KEY=VALUE"):
        captures.read_settings(["layers"])
