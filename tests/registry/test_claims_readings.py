"""Readings: which rows speak about a claim, what belongs together, and under which premises; on evidence made up here."""

from itertools import count

import pytest

from ironlaw.backends.rows import Row
from ironlaw.claims import Source, readings
from ironlaw.errors import BadRegistry
from ironlaw.registry.evidence import Evidence

MODULE = "ironlaw.claims.reading"
number = count()


@pytest.fixture
def files(monkeypatch):
    """A folder of evidence: `files(a=[…], b=[…])` on one machine; slugs are of the registry, so that `machine` is known."""

    def lay(machine="h200_sxm", **rows):
        held[machine] = tuple(
            Evidence(f"{machine}/{name}", {"l2_bytes": 60}, {}, "2026", "m", tuple(Row.from_json(row) for row in of))
            for name, of in rows.items()
        )

    held: dict = {}
    monkeypatch.setattr(f"{MODULE}.measured", lambda: tuple(held))
    monkeypatch.setattr(f"{MODULE}.evidence", lambda slug: held[slug])
    return lay


def row(name="f", mode="eager", s=1, **more):
    return {"kind": "function", "name": name, "mode": mode, "params": {"s": s, "dtype": "fp16"}, **more}


def source(figure="time(a) / time(b)", clocks=("busy_s",), **more):
    rows = more.pop("rows", {"a": {"kind": "function", "mode": "eager"}, "b": {"kind": "function", "mode": "compiled"}})
    return Source(f"test {next(number)}", rows, figure, clocks, **more)


def values(of):
    return [reading.value for reading in readings(of)]


def test_rows_that_agree_on_everything_but_their_role_belong_together(files):
    files(a=[row(s=1, busy_s=8), row(s=2, busy_s=9), row(mode="compiled", s=1, busy_s=2), row(mode="compiled", s=3, busy_s=1)])
    assert values(source()) == [4]  # s = 2 has no partner, s = 3 neither


def test_every_partner_gives_a_reading_of_its_own(files):
    files(a=[row(busy_s=8), row(mode="compiled", busy_s=2), row(mode="triton", busy_s=1)])
    rows = {"eager": {"mode": "eager"}, "fused": {"mode": {"any": ["compiled", "triton"]}}}
    both = readings(source("time(eager) / time(fused)", rows=rows))
    assert [(r.value, r.get("fused")) for r in both] == [(4, "compiled"), (8, "triton")]
    assert [
        r.value for r in readings(source("time(eager) / time(fused)", rows=rows | {"fused": {"mode": {"not": ["eager", "triton"]}}}))
    ] == [4]


def test_one_reading_per_clock_that_all_rows_have(files):
    files(
        a=[
            row(busy_s=8, wall_s=30),
            row(mode="compiled", busy_s=2, wall_s=10),
            row(s=2, busy_s=6),
            row(mode="compiled", s=2, busy_s=3, wall_s=1),
        ]
    )
    assert {(r.get("s"), r.get("clock")): r.value for r in readings(source(clocks=("busy_s", "wall_s")))} == {
        (1, "busy_s"): 4, (1, "wall_s"): 3, (2, "busy_s"): 2,
    }  # fmt: skip


def test_files_are_not_mixed_unless_asked(files):
    files(a=[row(busy_s=8)], b=[row(mode="compiled", busy_s=2)])
    assert values(source()) == []
    (only,) = readings(source(across=True))
    assert (only.value, only.files, only.get("file")) == (4, ("h200_sxm/a", "h200_sxm/b"), "h200_sxm/a and h200_sxm/b")


def test_machines_are_never_mixed(files):
    files(a=[row(busy_s=8)])
    files("neoverse_n1_2core", a=[row(mode="compiled", busy_s=2)])
    assert values(source(across=True)) == []


def test_a_model_pairs_with_itself_only(files):
    model = {"kind": "model", "params": {"batch": 1}}
    files(a=[model | {"workload": "x", "mode": "eager", "busy_s": 6}, model | {"workload": "y", "mode": "compiled", "busy_s": 2}])
    rows = {"a": {"kind": "model", "mode": "eager"}, "b": {"kind": "model", "mode": "compiled"}}
    assert values(source(rows=rows)) == []
    files(a=[model | {"workload": "x", "mode": mode, "busy_s": time} for mode, time in (("eager", 6), ("compiled", 2))])
    (only,) = readings(source(rows=rows))
    assert (only.value, only.get("model"), only.get("batch"), only.get("machine")) == (3, "x", 1, "h200_sxm")


def test_a_failed_row_says_nothing(files):
    files(a=[row(error="out of memory", busy_s=1), row(mode="compiled", busy_s=2)])
    assert values(source()) == []


def test_rows_may_be_chosen_by_machine_and_file(files):
    files(a=[row(busy_s=1)], b=[row(busy_s=2)])
    files("neoverse_n1_2core", a=[row(busy_s=3)])
    one = {"figure": "time(x)"}
    assert values(source(rows={"x": {"kind": "function"}}, **one)) == [1, 2, 3]
    assert values(source(rows={"x": {"kind": "function", "machine": "neoverse_n1_2core"}}, **one)) == [3]
    assert values(source(rows={"x": {"kind": "function", "file": "h200_sxm/b"}}, **one)) == [2]


def test_keep_leaves_rows_out(files):
    files(a=[row(s=1, busy_s=1), row(s=2, busy_s=2)])
    assert values(source("time(x)", rows={"x": {"kind": "function"}}, keep='x.get("s") > 1')) == [2]


def test_premises_are_what_the_rows_record(files):
    files(a=[{"kind": "op", "op": "sdpa", "params": {"sq": 8, "sk": 8, "shape": [2, 4]}, "variant": "v", "busy_s": 1}])
    (only,) = readings(source("time(x)", rows={"x": {"kind": "op"}}, names={"sq": "s", "sk": ""}, premises={"plain": "p"}))
    assert only.premises == {"machine": "h200_sxm", "plain": "p", "s": 8, "shape": (2, 4), "op": "sdpa", "variant": "v", "clock": "busy_s"}
    assert only.get("causal") is None


def test_a_variant_that_was_not_asked_for_is_the_default(files):
    files(a=[row(busy_s=8), row(mode="compiled", busy_s=2), row(mode="compiled", variant="freezing", busy_s=1)])
    assert [(r.value, r.get("variant")) for r in readings(source())] == [(4, "default"), (8, "freezing")]


def test_the_head_of_a_file_is_a_row_too(files):
    files(a=[row(busy_s=1)])
    assert values(source('head.value("l2_bytes")', (), rows={"head": {"kind": "machine"}})) == [60]


def test_the_figure_sees_the_machine(files):
    files(a=[row(busy_s=1)])
    assert values(source("machine.bandwidth", (), rows={"x": {"kind": "function"}})) == [4.8e12]


def test_a_figure_that_fails_names_its_place(files):
    files(a=[row(busy_s=1)])
    with pytest.raises(BadRegistry, match="here: cannot compute"):
        readings(Source("here", {"x": {"kind": "function"}}, "x.nothing"))


def test_what_was_measured_on_this_machine_judges_nothing(files):
    from ironlaw.calibration.local_machine import SLUG

    files(SLUG, a=[row(busy_s=1)])
    assert values(source("time(x)", rows={"x": {"kind": "function"}})) == []
