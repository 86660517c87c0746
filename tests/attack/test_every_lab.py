"""Every lab on a ledger that a hostile import left: runs of every experiment with odd rows, committed and saved designs with odd dials,
times at the ends of the calendar. No part of a page fails; what can't be used is set aside.

`IRONLAW_ATTACK=full`: all labs, three ledgers each.
"""

import random
import sys
import time
from pathlib import Path
from uuid import UUID

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "labs"))
from attack_length import FULL
from headless import Page

from ironlaw import kit
from ironlaw.kit import hud, prose
from ironlaw.kit.instrument import SET_ASIDE
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import open_ledger
from ironlaw.ledger.append import append_events
from ironlaw.ledger.events import Event
from ironlaw.measure.experiments.experiment_list import EXPERIMENTS
from ironlaw.measure.software_host import machine
from ironlaw.pages.lab_catalogue import LABS
from ironlaw.pages.records import records

EVERY = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))
ASKED = EVERY if FULL else ("lab_v2_13_privacy",)
TIMES = ("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", "2026-01-01T00:00:00.000000Z")
HELD = "\ue00099\ue001"  # what the prose uses for itself
ODD = (None, "x", -1, 0, 1e300, [], {}, "<b>", 10**20, HELD, True, 0.5, [[]], "../../x")
TIMING = {"wall_s": 1e-3, "low_s": 1e-3, "high_s": 2e-3, "samples": 5}
NAMES = ("one", "chain", "independent", "step", "forward", "accuracy", "attacked", "ring", "model", "whole", "x")
PARAMS = ("neighbours", "epsilon", "records", "noise", "batch", "ranks", "bytes", "load", "quantiles", "p99_s", "attack", "workers", "k")
DIALS = ("gpus", "batch", "device", "context", "tp", "micro_batch", "interval", "x")


@pytest.fixture
def west(monkeypatch):
    """Where the year 1 begins a few hours later."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def hostile(learner, slug, questions, chance):
    def odd(names, many):
        return {name: chance.choice(ODD) for name in chance.sample(names, many)}

    def row():
        about = {"name": chance.choice(NAMES), "label": f"{HELD}<b>", "params": odd(PARAMS, 5)}
        figure = {"kind": "figure", "value": 1, "low": 0, "high": 2, "samples": 3, "unit": "%"}
        return about | (figure if chance.random() < 0.5 else {"kind": "case", **TIMING})

    run = {"machine": machine(), "software": {}, "noise": {"reasons": [HELD]}, "library": HELD}
    payloads = [("measured", {**run, "experiment": name, "rows": [row() for _ in range(4)]}) for name in EXPERIMENTS]
    payloads += [("decision", {"question": name, "dials": odd(DIALS, 4), "met": True}) for name in questions]
    payloads += [("design", {"dials": {act: odd(DIALS, 4) for act in ("act1", "act2")}, "goals": chance.choice(ODD), **odd(DIALS, 3)})]
    return [
        Event(str(UUID(int=chance.getrandbits(128), version=4)), learner, 1, slug, 1, kind, payload, chance.choice(TIMES))
        for kind, payload in payloads
    ]


@pytest.mark.parametrize("slug", ASKED)
def test_no_part_of_a_lab_fails(slug, tmp_path, west, figure):
    for seed in range(3 if FULL else 1):
        with open_ledger(tmp_path / f"{seed}.db") as ledger:
            lab = kit.open(slug, ledger)
            complete(lab)
            with ledger.store.database.writing() as connection:
                append_events(connection, hostile(ledger.learner, slug, lab.questions, random.Random(seed)))
            page = Page(ledger, slug)
            errors = {name: element.widget.view.get("error") for name, element in page.lab.elements.items()}
            assert [each for each in errors.values() if each and SET_ASIDE not in str(each)] == [] and page.lab.trouble == ""
            assert not [name for name, part in page.parts.items() if "could not be shown" in str(part)]
            assert records(ledger).problem == ""
    figure(f"{slug}: every part of the page opens")


def test_times_at_the_ends_of_the_calendar_and_characters_of_our_own(west):
    assert hud.clock(TIMES[0]).lstrip("0") == "1-01-01" and hud.clock(TIMES[1]) == "9999-12-31"
    assert prose.html(prose.plain(f"a {HELD} b \ue13c")) == "<p>a 99 b </p>" == prose.html(f"a {HELD} b ")
