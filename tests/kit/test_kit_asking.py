"""The pieces that ask first: the walk_from tree, the loop, the spectrum and its runner."""

import time

import pytest
from as_browser import send

from ironlaw.engine.device.fusion_rules import decide
from ironlaw.labs.review.spectrum import Runner, spectrum
from ironlaw.labs.review.stepwise import Step, Verdict, loop
from ironlaw.labs.review.walker import PATTERNS, SHAPES, START, walk_from, walker
from ironlaw.recall.pairs import pair, siblings
from ironlaw.recall.walk import sibling_verdict, truth

RUN = {"torch": "9.9", "python": "3", "date": "2026-01-01", "example": [1], "other": [-1],
       "ways": {"a": {"outcome": "wrong", "result": [2], "error": "", "warnings": ["hm"], "sees": "code", "graphs": 1}}}  # fmt: skip


# --- the tree


@pytest.mark.parametrize("second", ["relu", "matmul", "softmax", "sum", "transpose", "embedding", "max_pool2d"])
@pytest.mark.parametrize("first", ["matmul", "relu", "sum", "softmax"])
@pytest.mark.parametrize("over", ["row", "all"])
def test_who_answers_rightly_ends_where_the_planner_does(first, second, over):
    piece = walker()
    ops = pair(first, second, SHAPES[1], over)
    view = send(piece, first=first, second=second, over=over, answers=[])
    for answer in truth(*ops):
        assert view["end"] is None and all(step["right"] is None for step in view["steps"])
        view = send(piece, answers=[*piece.state["answers"], answer])
    verdict = decide(*ops)
    assert view["end"]["agrees"] and view["end"]["planner"] == PATTERNS[verdict.pattern] and view["end"]["reason"] == verdict.reason
    assert view["next"] is None and view["end"]["wrong"] == []


def test_siblings_and_another_shape():
    ops = siblings("relu", "gelu", SHAPES[1])
    found = walk_from({**START, "first": "relu", "second": "gelu", "relation": "siblings"}, truth(*ops, shared=True))
    assert found.verdict == sibling_verdict(*ops) and found.verdict.pattern == "horizontal"
    half = {**START, "first": "relu", "second": "gelu", "fit": "half"}
    assert walk_from(half, []).verdict == decide(*pair("relu", "gelu", SHAPES[1], "row", (512, 1024)))


@pytest.mark.parametrize("state", [{"first": "dance"}, {"shape": 9}, {"shape": True}, {"answers": ["yes"]}, {"answers": [False] * 30}])
def test_what_is_no_walk_says_so(state):
    assert send(walker(), **state)["error"]["message"]


def test_a_wrong_answer_is_marked_at_the_end_only():
    piece = walker()
    view = piece.view
    while view["next"]:
        view = send(piece, answers=[*piece.state["answers"], False])
    assert not view["end"]["agrees"] and len(view["end"]["wrong"]) == 1


# --- the loop


def steps(called):
    def judge(values, answers):
        called.append((dict(values), list(answers)))
        return Verdict(1, f"<p>{values['a']}</p>")

    return [Step("One", "first?", ("x", "y"), judge), Step("Two", "second?", ("x", "y"), lambda values, answers: Verdict(None, "kept"))]


def test_a_step_is_answered_by_the_engine_only_after_the_learner():
    called = []
    piece = loop([{"id": "a", "label": "A", "options": [("p", "P"), ("q", "Q")]}], steps(called), lambda values, answers: "the end")
    assert called == [] and piece.view["steps"] == [{"title": "One", "ask": "first?", "options": ["x", "y"], "given": None}]
    view = send(piece, answers=[0])
    assert called == [({"a": "p"}, [0])] and view["steps"][0]["right"] is False and view["steps"][1]["given"] is None
    view = send(piece, answers=[1, 0])
    assert [step["right"] for step in view["steps"]] == [True, None] and view["after"] == "the end"
    for bad in ({"answers": [2]}, {"answers": [True]}, {"answers": "x"}, {"answers": [0, 0, 0]}, {"a": "z", "answers": []}):
        assert send(piece, **{"a": "p", "answers": [], **bad})["error"]["message"]


# --- the spectrum


def made(runner):
    return spectrum({"a": "A way"}, "code", RUN, runner, lambda way, run: f"about {way} in {run['torch']}")


def wait_for(runner):
    deadline = time.monotonic() + 180
    while runner.running and time.monotonic() < deadline:
        time.sleep(0.02)


def test_nothing_is_told_before_a_guess_and_recorded_says_so():
    piece = made(Runner("json.tool", "no_such_package"))
    assert piece.view["told"] == {} and "about" not in str(piece.view)
    view = send(piece, guesses={"a": "wrong"})
    assert view["told"]["a"]["right"] and view["told"]["a"]["about"] == "about a in 9.9"
    assert view["source"] == "Recorded, not run here: PyTorch 9.9, Python 3, 2026-01-01."
    assert "not installed" in send(piece, act=1)["error"]["message"]
    assert send(piece, guesses={"b": "wrong"})["error"]["message"]


def test_a_run_here_takes_the_place_of_the_recorded_one(tmp_path, monkeypatch):
    (tmp_path / "fake_run.py").write_text(f"import json; print(json.dumps({dict(RUN, torch='1.2')!r}))")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    runner = Runner("fake_run", "json")
    piece = made(runner)
    send(piece, guesses={"a": "right"}, act=1)
    wait_for(runner)
    view = send(piece, poll=1)
    assert view["source"].startswith("Run here just now: PyTorch 1.2") and view["running"] is False and view["error"] is None


def test_a_run_that_fails_says_why_and_the_recorded_one_stays(tmp_path, monkeypatch):
    (tmp_path / "bad_run.py").write_text("raise SystemExit('no such thing')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    runner = Runner("bad_run", "json")
    piece = made(runner)
    send(piece, act=1)
    wait_for(runner)
    view = send(piece, poll=1)
    assert "no such thing" in view["error"]["message"] and view["source"].startswith("Recorded")
