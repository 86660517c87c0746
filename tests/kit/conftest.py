"""A ledger of its own for each test, and a lab to hang pieces on."""

import pytest
import quick_commits  # noqa: F401

from ironlaw import kit
from ironlaw.kit import background
from ironlaw.ledger import open_ledger

background.allowed.clear()  # a test builds what it asks for


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.fixture
def lab(ledger):
    return kit.open("_template", ledger)


@pytest.fixture
def question(lab):
    return lab.question("act1")
