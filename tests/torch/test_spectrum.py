"""The capture spectrum in real PyTorch, and the run that is shipped with the review."""

import json
import runpy

import pytest

from ironlaw.labs.review import capture
from ironlaw.tracing.capture_spectrum import gate, run


@pytest.fixture(scope="module")
def found():
    return run()


def test_what_each_way_does_with_the_other_branch(found):
    """By hand: the example's sum is positive, so a frozen trace doubles the ReLU of the other input too."""
    outcomes = {way: tried["outcome"] for way, tried in found["ways"].items()}
    assert outcomes == {"eager": "right", "trace": "wrong", "script": "right", "fx": "refused", "compile": "right"}
    assert found["expected"] == [3.0, -0.5, 1.0]
    assert found["ways"]["trace"]["result"] == [0.0, 1.0, 0.0]
    assert found["ways"]["trace"]["warnings"] and "if" in found["ways"]["script"]["sees"]
    assert "if" not in found["ways"]["trace"]["sees"]
    assert (found["ways"]["compile"]["first"], found["ways"]["compile"]["graphs"]) == (2, 3)


def test_the_recorded_run_says_the_same(found):
    recorded, now = capture.recorded_run(), found
    assert {way: tried["outcome"] for way, tried in recorded["ways"].items()} == {way: t["outcome"] for way, t in now["ways"].items()}
    assert [recorded[name] for name in ("example", "other", "expected")] == [now[name] for name in ("example", "other", "expected")]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_module_prints_it_and_the_page_shows_its_function(capsys):
    runpy.run_module(capture.MODULE, run_name="__main__")  # what `python -m` runs
    assert set(json.loads(capsys.readouterr().out)["ways"]) == set(capture.WAYS)
    assert capture.code().startswith("def gate(") and gate.__name__ in capture.code()
