"""Readings from published tables: which rows belong together, and what they record; on a table made up here."""

from itertools import count
from types import MappingProxyType

import pytest

from ironlaw.claims import Source, claim, load, readings
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry.publications import Published, published

number = count()
UNITS = {"box": "text", "ranks": "count", "size": "B", "took": "s"}
ROWS = (("pairs", 2, 100.0, 1.0), ("pairs", 4, 100.0, 8.0), ("switch", 2, 100.0, 1.0), ("switch", 4, 100.0, 1.5), ("alone", 2, 100.0, 3.0))


@pytest.fixture(autouse=True)
def table(monkeypatch):
    rows = tuple(MappingProxyType(dict(zip(UNITS, row, strict=True))) for row in ROWS)
    made_up = Published("made_up", "Made up", "here", "1", "2026", "none", "measured", "", UNITS, rows)
    for reader in ("published_reading", "provenance"):
        monkeypatch.setattr(f"ironlaw.claims.{reader}.published", lambda name: made_up)


def source(rows, figure='four["took"] / two["took"]', **more):
    return Source(f"test {next(number)}", rows, figure, published="made_up", **more)


def test_rows_pair_on_what_every_role_leaves_open():
    by_box = readings(source({"two": {"ranks": 2}, "four": {"ranks": 4}}))
    assert [(r.get("box"), r.value) for r in by_box] == [("pairs", 8.0), ("switch", 1.5)]  # `alone` has no partner
    assert by_box[0].files == ("Made up, 2026",)
    assert by_box[0].get("ranks") is None and by_box[0].get("took") is None  # told apart by the role; what came out


def test_what_one_role_leaves_open_is_a_premise_too():
    rows = {"two": {"box": "alone", "ranks": 2}, "four": {"ranks": {"not": [2]}}}
    assert [(r.get("box"), r.get("ranks"), r.value) for r in readings(source(rows))] == [
        ("pairs", 4, pytest.approx(8 / 3)), ("switch", 4, pytest.approx(0.5)),
    ]  # fmt: skip


def test_a_filter_may_list_values_and_keep_leaves_rows_out():
    rows = {"two": {"ranks": 2, "box": {"any": ["switch", "alone"]}}}
    assert [r.value for r in readings(source(rows, 'two["took"]'))] == [1.0, 3.0]
    assert [r.value for r in readings(source(rows, 'two["took"]', keep='two["took"] > 2'))] == [3.0]


def test_a_column_that_the_table_lacks_is_refused():
    with pytest.raises(UnknownName, match=r"rank.*ranks"):
        readings(source({"two": {"rank": 2}}, 'two["took"]'))


def test_a_table_has_no_clocks(tmp_path):
    path = tmp_path / "more.toml"
    path.write_text(
        '[one]\nsays = "It takes 1 s."\nvalue = 1\nunit = "s"\nwho = "a"\nsource = "b"\ndate = "2026"\nexpression = "1"\ntolerance = 0.1\n'
        'expected = "holds"\nwhy = "So."\n[[one.measured]]\npublished = "made_up"\nrows.two = { ranks = 2 }\nfigure = "1"\n'
        'clocks = ["wall_s"]\n'
    )
    with pytest.raises(BadRegistry, match=r"more\.toml \[one\].*clocks"):
        list(load(path))


def test_pairs_of_a100_were_timed_at_a_factor_of_eight(monkeypatch):
    """By hand from the source's longest message: 195.5 GB/s with two cards, 23.6 with four."""
    monkeypatch.setattr("ironlaw.claims.published_reading.published", published)
    entry = claim("pcie_is_good_enough")
    assert entry.measured is not None and entry.measured.value == pytest.approx(195.5 / 23.6, rel=0.005)
    assert entry.judgement.measured and entry.verdict == "refuted"
