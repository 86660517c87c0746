"""Only the tests of a stalled browser are run again, and only once."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
CASES = """
import pytest
from playwright.sync_api import Page

@pytest.fixture
def page(chromium):
    with chromium.new_context() as context:
        yield context.new_page()

TIMES = {"stalls": 0, "stays": 0, "wrong": 0}

def go(name, page):
    TIMES[name] += 1
    if name == "stays" or (name, TIMES[name]) == ("stalls", 1):
        page.evaluate("requestAnimationFrame = () => 0")
    page.wait_for_function("() => new Promise(requestAnimationFrame)", timeout=500)
    assert name != "wrong"

@pytest.mark.parametrize("name", TIMES)
def test(name, page):
    go(name, page)

def test_times():
    assert TIMES == {"stalls": 2, "stays": 2, "wrong": 1}
"""


def test_only_a_stalled_browser_gets_a_second_run(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path[:0] = {[str(TESTS / 'browser'), str(TESTS)]!r}\nimport stalls\nstalls.SECONDS = 0.3\n"
        "from stalls import *\nimport pytest\nfrom chromium import started\n"
        "@pytest.fixture(scope='session')\ndef chromium():\n    with started() as browser:\n        yield browser\n"
    )
    (tmp_path / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, env=bare, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert "2 failed, 2 passed, 2 warnings" in told, told
    assert "BrowserStalled" in told and "assert 'wrong' != 'wrong'" in told, told
