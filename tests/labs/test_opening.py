"""What is imported before it is needed: by `ironlaw --help`, by the server before its first page, and by each lab on its first screen."""

import json
import subprocess
import sys

import pytest

# in one process, each step after those before it: a module that is absent at the end was imported by none of them
STEPS = """
import contextlib, io, json, pathlib, sys

def modules():
    return sorted(name for name in sys.modules if name.partition(".")[0] == "ironlaw")

seen = {}
import ironlaw
seen["import"] = modules()
from ironlaw.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["--help"])
seen["help"] = modules()
import ironlaw.server.app
seen["server"] = modules()
from ironlaw.kit.lab import LABS
from ironlaw.kit.page import Page
from ironlaw.ledger import open_ledger
ledger = open_ledger(pathlib.Path(sys.argv[1]))
for slug in sorted(path.parent.name for path in LABS.glob("lab_*/lab.py")):
    page = Page(LABS / slug, ledger)
    page.open()
    assert not page.failed and page.html_of["hud"], page.failed
    seen[slug] = modules()
print(json.dumps(seen))
"""
FRONT_ENDS = ("cli", "server", "pages", "command", "own_labs")
LATER = (
    "calibration.fit", "claims.judging", "claims.reading", "backends.cuda.lowering", "kit.claim_panel", "kit.ending", "kit.complete_runs",
    "kit.reflect", "kit.reveal", "ledger.damage", "report", "study", "tracing",
)  # fmt: skip
WITH_ACT2 = ("lab_10_frontier", "lab_11_roofline")  # its states, or its fields of the design, are asked for at once


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Step -> every module of ironlaw that is imported by then."""
    path = tmp_path_factory.mktemp("opening") / "ledger.db"
    run = subprocess.run([sys.executable, "-c", STEPS, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def room(module):
    return module.split(".")[1] if "." in module else ""


def test_help_needs_a_parser_and_no_question(seen):
    assert len(seen["import"]) <= 2
    assert {room(name) for name in seen["help"]} <= {"", "cli", "errors", "version"}


def test_the_start_page_waits_for_no_lab_and_no_prediction(seen):
    """It shows whether this machine was measured, and so reads machines."""
    assert not {room(name) for name in seen["server"]} & {"claims", "kit", "labs", "recall", "report", "systems"}
    assert not {"ironlaw.engine.device.predict", "ironlaw.engine.device.work", "ironlaw.registry.workloads"} & set(seen["server"])


def test_lab_01_opens_with_a_third_of_what_it_once_took(seen):
    """350 modules, the front ends' own not counted."""
    assert len([name for name in seen["lab_01_magnitude"] if room(name) not in FRONT_ENDS]) <= 350 / 3


def test_no_lab_imports_for_its_first_screen_what_comes_later(seen):
    last = seen["lab_v2_17_synthesis"]
    assert [name for name in last if name.removeprefix("ironlaw.").startswith(LATER)] == []
    assert {name.split(".")[2] for name in last if name.endswith(".act2")} == set(WITH_ACT2)
