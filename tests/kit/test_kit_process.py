"""A run is a process: heard, kept, cancelled, ended; one at a time."""

import sys
import time

import pytest

from ironlaw.errors import BadValue, LedgerUnavailable
from ironlaw.kit.process import CANCELLED, DONE, FAILED, JobRunner, Run


def script(text: str) -> list[str]:
    return [sys.executable, "-c", "import json, sys, time\ndef say(**told): print(json.dumps(told), flush=True)\n" + text]


def finish(run: Run) -> Run:
    run.thread.join(120)
    assert not run.thread.is_alive()
    return run


def until(condition) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def desk():
    made = JobRunner()
    yield made
    made.close()


def test_progress_is_heard_and_the_result_kept_before_it_is_done(desk):
    kept = []
    text = "say(share=0.5, doing='half')\nprint('a library talks')\nprint('7')\nsys.stdin.read()\nsay(result={'rows': [1]})"
    run = finish(desk.start("tiny_ops", script(text), kept.append))
    assert (run.state, run.share, run.doing, run.error) == (DONE, 0.5, "half", "")
    until(lambda: desk.running("tiny_ops") is None)  # the thread that heard the end may still be about to let go of it
    assert kept == [{"rows": [1]}] and desk.finished == 1


def test_cancelling_ends_the_process_and_keeps_nothing(desk):
    kept = []
    run = desk.start("tiny_ops", script("say(share=0.1, doing='on')\ntime.sleep(60)\nsay(result={})"), kept.append)
    until(lambda: run.doing == "on")
    assert desk.running("tiny_ops") is run and desk.running("gemm_sweep") is None
    desk.cancel("gemm_sweep")
    assert run.process.poll() is None
    desk.cancel("tiny_ops")
    finish(run)
    assert run.state == CANCELLED and run.process.poll() is not None and not kept and desk.finished == 1


def test_two_at_once_would_disturb_each_other(desk):
    run = desk.start("tiny_ops", script("time.sleep(60)"), lambda result: None)
    with pytest.raises(BadValue, match=r"running \(tiny_ops\)"):
        desk.start("gemm_sweep", script("pass"), lambda result: None)
    run.cancel()
    finish(run)
    assert finish(desk.start("gemm_sweep", script("say(result={'a': 1})"), lambda result: None)).state == DONE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("say(error='NumPy is missing; pip install numpy')", "NumPy is missing; pip install numpy"),
        ("raise RuntimeError('it broke')", "RuntimeError: it broke. Try again"),
        ("sys.exit(3)", "it ended with 3"),
    ],
)
def test_what_goes_wrong_is_told_with_what_to_do(desk, text, said):
    run = finish(desk.start("tiny_ops", script(text), lambda result: None))
    assert run.state == FAILED and said in run.error


def test_a_result_that_the_ledger_refuses_is_a_failure(desk):
    def full(result):
        raise LedgerUnavailable("the disk is full; make room")

    run = finish(desk.start("tiny_ops", script("say(result={})"), full))
    assert run.state == FAILED and "could not be saved: the disk is full" in run.error


def test_a_run_that_never_ends_is_ended():
    ended = []
    run = finish(Run("tiny_ops", script("time.sleep(60)"), lambda result: None, lambda: ended.append(1), longest=0.2))
    assert run.state == FAILED and "longer than 0 s" in run.error and ended == [1]


def test_a_program_that_is_not_there(desk):
    with pytest.raises(BadValue, match="could not be started"):
        desk.start("tiny_ops", ["/nowhere/python"], lambda result: None)
    assert desk.now is None
