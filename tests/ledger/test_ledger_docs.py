"""docs/ledger.md: its example can be imported, its description of the chain is enough to compute it, and no kind is left out."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from ironlaw import kit
from ironlaw.ledger import KINDS, open_ledger

TEXT = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text("utf-8")
EXAMPLE = json.loads(re.search(r"```json\n(.*?)```", TEXT, re.S)[1])


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def digest(values):
    """As the page describes it."""
    return sha256(json.dumps(values, separators=(",", ":")).encode()).hexdigest()


def heads(export):
    before = digest(["ironlaw-ledger", export["learner"]["id"], export["chain"]["since"]])
    for event in export["events"]:
        content = [event[name] for name in ("id", "learner", "epoch", "lab", "attempt", "kind")]
        before = digest([before, *content, json.dumps(event["payload"]), event["time"], None])
        yield before


def test_the_example_can_be_imported_and_opens_its_lab(ledger):
    assert ledger.import_(EXAMPLE) == 1
    assert kit.open("lab_01_magnitude", ledger).choice("act1").id == "e6"
    assert list(heads(EXAMPLE)) == [EXAMPLE["chain"]["head"]]


def test_the_chain_is_the_one_that_the_page_describes(ledger):
    ledger.set_learner_name("Émilie")
    ledger.append("lab", "design", {"z": 1e-300, "a": ["größer", None, 2**70]})
    export = ledger.export()
    assert list(heads(export)) == [event["hash"] for event in export["events"]]


def test_every_kind_is_described():
    table = TEXT[TEXT.index("| kind | payload |") : TEXT.index("Times are UTC")]
    listed = [name for row in re.findall(r"^\| (`[^|]+) \|", table, re.M) for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(KINDS)
    for kind, record in KINDS.items():
        row = next(row for row in table.splitlines() if row.startswith("| ") and f"`{kind}`" in row.split("|")[1])
        assert all(f"`{field}`" in row for field in record.needs), kind
