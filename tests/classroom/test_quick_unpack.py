"""The quick way through an export accepts nothing that the careful one refuses, and gives the same events; it leaves the rest alone."""

import pytest
from made_class import BEGIN, export, plan

from ironlaw.errors import BadExport
from ironlaw.ledger import export_format, quick_unpack
from ironlaw.ledger.chain import genesis, link
from ironlaw.ledger.events import utc

ODD = [
    {}, {"epoch": 2**31 - 1}, {"attempt": 7, "lab": "ein labor ä"}, {"epoch": 0}, {"epoch": True}, {"epoch": 2**31}, {"attempt": "1"},
    {"time": "2026-03-02T09:00:00+01:00"}, {"time": "2026-02-30T09:00:00.000000Z"}, {"lab": ""}, {"lab": "x" * 201}, {"lab": "a\nb"},
    {"lab": None}, {"kind": "later"}, {"kind": 3}, {"kind": "named", "lab": ""}, {"id": "1"}, {"learner": "1"}, {"payload": []},
    {"note": "of a newer ironlaw"}, {"learner": "00000000-0000-4000-8000-000000000000"}, {"payload": {"note": 10**400}}, {"payload": {}},
    {"payload": {"text": "\ud800"}}, {"payload": {"much": "x" * 1_000_001}}, {"payload": {"ä\u2028\"\\": 1e400}}, {"payload": {"y": -0.0}},
]  # fmt: skip


def forged(odd: dict) -> dict:
    """An export whose third event was changed before its chain was computed; what can't be chained keeps the hash that it had."""
    data = export(plan(1))
    data["events"][2] |= odd
    digest = genesis(data["learner"]["id"], utc(BEGIN))
    for item in data["events"]:
        extra = {key: value for key, value in item.items() if key not in export_format.OURS}
        try:
            event = export_format.Event(*(item[name] for name in export_format.FIELDS), extra)
            digest = link(digest, export_format.stored(event))
        except Exception:
            break
        item["hash"] = digest
    else:
        data["chain"]["head"] = digest
    return data


def quick(data: dict):
    return quick_unpack.events(data["events"], data["learner"]["id"], data["chain"]["since"], data["chain"]["head"])


def test_what_ironlaw_wrote_goes_the_quick_way():
    data = export(plan(1))
    assert quick(data) == export_format.unpack(data) and len(data["events"]) > 10


@pytest.mark.parametrize("odd", ODD)
def test_both_ways_judge_alike(odd, monkeypatch):
    data = forged(odd)
    listed = quick(data)
    monkeypatch.setattr(quick_unpack, "events", lambda *_: None)
    try:
        careful = export_format.unpack(data)
    except BadExport:
        careful = None
    assert listed is None or listed == careful


@pytest.mark.parametrize("number", [0, 5, -1])
@pytest.mark.parametrize("change", ["hash", "payload", "time", "gone", "twice"])
def test_a_change_after_the_export_is_left_to_the_careful_way(number, change):
    data = export(plan(1))
    items = data["events"]
    if change == "gone":
        del items[number]
    elif change == "twice":
        items.insert(number, items[number])
    else:
        items[number][change] = {"payload": {"name": "x"}, "time": "2026-03-02T09:00:00.000001Z", "hash": "0" * 64}[change]
    assert quick(data) is None
    with pytest.raises(BadExport, match=r"was changed after|has no hash|events of"):
        export_format.unpack(data)
