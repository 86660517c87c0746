"""What a lab says about a run follows the run: made-up data that contradict the lesson, and the lesson is not said."""

from types import SimpleNamespace

import pytest
from measured import ROWS, timing

from ironlaw.kit import run_caption
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_words import load
from ironlaw.kit.measured_run import Measured
from ironlaw.labs.lab_10_frontier.act2 import local_runs as formats
from ironlaw.labs.lab_13_line.act1 import local_runs as line
from ironlaw.labs.lab_14_tail.act1 import local_runs as omission
from ironlaw.labs.lab_15_parity.act1 import local_runs as parity
from ironlaw.labs.lab_v2_02_interconnect.act1 import local_runs as staircase
from ironlaw.labs.lab_v2_03_fabric.act1 import local_runs as fabric
from ironlaw.labs.lab_v2_05_parallelism.act1 import local_runs as scaling
from ironlaw.labs.lab_v2_06_collectives.act1 import local_runs as collectives
from ironlaw.labs.lab_v2_10_kv_serving.act1 import local_runs as decode
from ironlaw.labs.lab_v2_13_privacy.act1 import local_runs as privacy
from ironlaw.labs.lab_v2_15_jevons.act1 import local_runs as energy
from ironlaw.measure.experiments import kv_decode
from ironlaw.measure.experiments import omission as polite
from ironlaw.measure.rows import case_row


def run(rows, name="x"):
    return Measured(name, "NumPy 2.1.3", tuple(rows), {}, {}, {}, "2026-11-15T08:00:00Z")


def products(int8):
    return run(case_row(name, name, {"batch": 1}, timing(t)) for name, t in (("fp32", 1e-3), ("fp16", 2e-3), ("int8", int8)))


def in_line(in_flight):
    about = {"load": 0.8, "rate": 100.0, "mean_s": 0.02, "in_flight": in_flight}
    return run([case_row("line", "line", about, timing(1e-3))])


def edited(name, chosen, **fields):
    return run(row | fields if chosen(row) else row for row in ROWS[name])


def decoded(without):
    seconds = {kv_decode.CACHED: (1.0, 2.0), kv_decode.UNCACHED: (1.0, without)}
    ends = (kv_decode.LENGTHS[0], kv_decode.LENGTHS[-1])
    return run(
        case_row(kv_decode.WHOLE, "a", {"way": way, "tokens": n}, timing(t))
        for way, both in seconds.items()
        for n, t in zip(ends, both, strict=True)
    )


def pair(*efficiencies):
    return [SimpleNamespace(efficiency=each) for each in efficiencies]


SLOW = dict.fromkeys(staircase.OTHERS, 1.0)
SHOWN = {
    "formats": (formats.shows, (products(1.2e-3),), (products(0.5e-3),)),
    "line": (line.shows, (in_line(2.01),), (in_line(3.0),)),
    "omission": (
        omission.shows,
        (run(ROWS["omission"]),),
        (edited("omission", lambda row: row["name"] == polite.OPEN and row["params"]["p"] == 0.99, value=5e-3),),
    ),
    "resample": (
        parity.gaps_are_no_chance,
        (run(ROWS["resample"]),),
        (edited("resample", lambda row: row["name"] == "fnr_gap", high=1.0),),
    ),
    "train_here": (
        parity.gap_stays,
        (run(ROWS["train_here"]),),
        (edited("train_here", lambda row: row["params"]["group"] == "B", low=50.0, high=61.0),),
    ),
    "scaling": (scaling.shows, (pair(0.4, 0.8),), (pair(0.8, 0.4),)),
    "collectives": (
        collectives.shows,
        ({"ring": 2.0, "binomial": 1.0}, {"ring": 1.0, "binomial": 2.0}),
        ({"ring": 1.0, "binomial": 2.0}, {"ring": 1.0, "binomial": 2.0}),
    ),
    "staircase": (staircase.shows, ({"memory": 10.0, **SLOW},), ({"memory": 1.0, **SLOW},)),
    "kv_decode": (decode.told_apart, (decoded(7.6),), (decoded(1.5),)),
    "dp_sgd": (privacy.shows, (9.0, 2.0), (2.0, 9.0)),
    "energy": (energy.shows, ({1: 2.0, 64: 1.0}, {1: 2.0, 64: 1.0}), ({1: 2.0, 64: 1.0}, {1: 1.0, 64: 2.0})),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_lesson_is_said_only_where_the_run_shows_it(name):
    shows, agreeing, contrary = SHOWN[name]
    assert shows(*agreeing) is True and shows(*contrary) is False


@pytest.mark.parametrize(("seconds", "words"), [([1.0, 1.1, 1.2], "none of them wins"), ([1.0, 2.0, 1.2], "too noisy to tell")])
def test_equal_ways_over_one_wire(seconds, words):
    assert words in fabric.verdict(seconds)


def test_a_run_against_the_lesson_is_told_without_it():
    words = load(LABS / "lab_14_tail" / "words.md")
    slots = {"stall": "1", "closed": "2", "open": "3", "times": "4", "rate": "5"}
    lab = SimpleNamespace(words=words)
    told, against = (run_caption.caption(lab, "act1.here", slots, shows) for shows in (True, False))
    assert "not the stall" in told and run_caption.AGAINST not in told
    assert "not the stall" not in against and run_caption.AGAINST in against


def test_every_lesson_of_a_run_is_judged_here():
    lessons = {f"{path.parent.name} {name}" for path in LABS.glob("lab_*/words.md") for name in load(path).sections if ".lesson" in name}
    assert len(lessons) == len(SHOWN), sorted(lessons)


def test_what_was_measured_here_is_drawn_by_the_instrument():
    """An act that lets learners measure draws their run: something beside local_runs.py and the design asks for it."""
    missing = set()
    for runs in LABS.glob("lab_*/act*/local_runs.py"):
        others = [*runs.parent.glob("*.py"), *runs.parent.parent.glob("*.py")]
        asking = [
            path for path in others if path.name not in ("local_runs.py", "__init__.py", "design.py") and "local_run" in path.read_text()
        ]
        if not asking:
            missing.add((runs.parent.parent.name, runs.parent.name))
    assert missing == set()
