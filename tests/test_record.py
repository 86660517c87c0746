"""The recorder of scripts/record: two records of one lab agree, and a figure that changed is named with its lab, act and setting."""

import sys
from pathlib import Path

import pytest

from ironlaw.widget import piece

FOLDER = Path(__file__).parent.parent / "scripts" / "record"
SLUG = "lab_15_parity"


@pytest.fixture
def scripts(monkeypatch):
    """Its modules, which have short names, for one test."""
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    import book
    import labs
    import seams
    import still
    import visits

    yield book, labs, seams, still, visits
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


def played(scripts, values: Path):
    book, labs, seams, still, visits = scripts
    with still.still() as place:
        record = book.Book(values, place)
        with visits.ledger_at(place / "ledger.db") as ledger:
            labs.play(record, seams.labs()[SLUG], ledger, f"labs/{SLUG}/own", None, range(2))
        record.close()
    return record.items


def test_two_records_agree_and_a_changed_figure_is_named(scripts, tmp_path, monkeypatch):
    book = scripts[0]
    first, again = played(scripts, tmp_path / "first.gz"), played(scripts, tmp_path / "again.gz")
    for one in book.differences(first, again):  # what differs says more than that it does
        values = (book.look_up(tmp_path / f"{name}.gz", {one.before, one.now}) for name in ("first", "again"))
        before, now = ({**found} for found in values)
        pytest.fail(f"{one.key} {one.part}: {book.diff(before.get(one.before), now.get(one.now))[:20]}")
    assert len(first) > 15
    kept = " ".join(first)
    assert all(words in kept for words in ("opened", "walk/00 lock act1", "save save", "complete", "turned/001 instrument act2"))

    def one_more(value, plain=piece.plain):
        view = plain(value)
        if isinstance(view, dict) and view.get("cards"):
            view["cards"][0]["value"] = f"{view['cards'][0]['value']}1"
        return view

    monkeypatch.setattr(piece, "plain", one_more)
    changed = list(book.differences(first, played(scripts, tmp_path / "changed.gz")))
    assert {one.part for one in changed} == {"instrument act1 view.cards", "instrument act2 view.cards", "view"}
    one = next(one for one in changed if one.key.endswith("turned/001 instrument act2"))
    assert one.place == f"labs/{SLUG}"
    before, now = (book.look_up(tmp_path / f"{name}.gz", {one.before, one.now}) for name in ("first", "changed"))
    lines = book.diff(before[one.before], now[one.now])
    assert lines and lines[0].startswith("[0].value")


def test_what_is_gone_or_another_text_is_a_difference_and_what_is_new_is_not(scripts):
    book = scripts[0]
    old = {"cli/a": {"out": "1", "err": "2"}, "cli/b": {"out": "1"}}
    new = {"cli/a": {"out": "3", "err": "2"}, "cli/c": {"out": "1"}}
    assert [(one.key, one.part) for one in book.differences(old, new)] == [("cli/a", "out"), ("cli/b", "")]
    assert book.chosen({**old, "labs/lab_12/own": {}}, ["labs:lab_12"]) == {"labs/lab_12/own": {}}
    turned = {f"labs/lab_12/own/turned/{number:03d} saved": {} for number in range(9)}
    assert list(book.chosen({**old, **turned}, (), 4)) == [*old, *list(turned)[:4]]
    assert book.diff('{"x":[1,2]}', '{"x":[1,3]}') == [".x[1]: 2 -> 3"]
    assert book.diff("one\ntwo", "one\nthree") == [" -two", " +three"]
