"""A lab in marimo, run for real: the same page, as one widget."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_steps import commit, watched
from playwright.sync_api import Page, expect

from ironlaw.kit.lab import LABS
from ironlaw.ledger import open_ledger


@pytest.fixture
def notebook(ironlaw_home: Path) -> Iterator[str]:
    """The address at which `marimo run` shows the template."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", str(LABS / "_template" / "lab.py"), "--headless", "--no-token", "--port", str(port)]
    running = subprocess.Popen(command, env={**os.environ, "IRONLAW_HOME": str(ironlaw_home)}, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and running.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.2)
    yield f"http://127.0.0.1:{port}/"
    running.kill()
    running.wait()


def test_a_learner_commits_in_a_notebook_and_goes_on(notebook: str, page: Page):
    with watched(page):
        page.goto(notebook)
        expect(page.locator(".il-header h1")).to_be_visible()
        commit(page, "10²", "fairly sure")
        expect(page.locator("#act1-reveal")).to_be_visible()
        expect(page.locator("#act1-instrument svg").first).to_be_visible()
        page.get_by_role("button", name="See what was measured").click()
        expect(page.locator("#act1-claims")).to_be_visible()
        page.wait_for_function("id => document.activeElement.shadowRoot?.activeElement?.id === id", arg="act1-claims")
    with open_ledger() as ledger:
        assert [event.kind for event in ledger.events("_template")] == ["opened", "prediction", "step"]
