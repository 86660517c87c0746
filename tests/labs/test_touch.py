"""Where a dial is a point on a picture, the point can be moved: every mark that stands for a dial stands where the dial says, at every
setting. How it is moved is tests/browser/test_touch.py's."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from acts import VOLUME_1
from acts_v2 import VOLUME_2
from headless import Page
from how_thorough import RELEASE
from ledger_at_hand import open_ledger

from ironlaw.errors import IronlawError
from ironlaw.widget.dials import settle
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.hold import hold, holds, place
from ironlaw.widget.piece import plain

SLUGS = [lab.slug for lab in (*VOLUME_1, *VOLUME_2)]
# (lab, picture, dial) of which a learner would expect it first
EXPECTED = {
    ("lab_01_magnitude", "curve", "batch"), ("lab_11_roofline", "roofs", "n"), ("lab_11_roofline", "throughput", "batch"),
    ("lab_10_frontier", "divergence", "bits"), ("lab_10_frontier", "frontier", "most_ppl"), ("lab_12_amdahl", "scaling", "workers"),
    ("lab_13_line", "by-rate", "rate"), ("lab_13_line", "by-rate", "target"), ("lab_14_tail", "tails", "target"),
    ("lab_15_parity", "price", "window"), ("lab_v2_05_parallelism", "gantt", "pipeline"), ("lab_v2_05_parallelism", "devices", "tensor"),
    ("lab_v2_06_collectives", "by-size", "size"),
    ("lab_v2_07_checkpoint", "waste", "interval"), ("lab_v2_10_kv_serving", "by-context", "context"),
    ("lab_v2_10_kv_serving", "over-time", "at"), ("lab_v2_12_slo", "spike", "moment"), ("lab_v2_12_slo", "over", "steps"),
    ("lab_v2_15_jevons", "plane", "share"), ("lab_v2_15_jevons", "plane", "high"),
}  # fmt: skip
# moves in proportion to a dial and is not the dial: what follows from it
DERIVED = {
    "layers mean", "saving start", "saving cross", "counts served", "triangle tester-0", "percentiles at-P99.9, tester", "by-size crossing",
    "density rule-the whole", "density rule-sum", "places claimed-ClusTR", "places now",
}  # fmt: skip


@pytest.fixture
def opened(completed, tmp_path, request) -> Iterator[tuple[str, dict[str, Any]]]:
    slug = request.param
    with open_ledger(completed(slug, tmp_path)) as ledger:
        yield slug, Page(ledger, slug).lab.instruments


def figures(instrument: Any, values: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Where the dials then stand, and what is drawn."""
    stand, _ = settle(instrument.dials(values), values)
    return stand, plain(list(instrument.compute({**stand, "moving": True}).figures))


def somewhere(dial: dict[str, Any]) -> list[Any]:
    """Two values that the dial can have, one nearer its low end, one nearer its high end."""
    if options := dial.get("options") or [{"value": step} for step in dial.get("steps") or ()]:
        usable = [option["value"] for option in options if not option.get("disabled")]
        return [usable[len(usable) // 3], usable[-1 - len(usable) // 4]]
    low, high = dial["min"], dial["max"]
    some = [low * (high / low) ** share if dial["type"] == "log" else low + (high - low) * share for share in (0.3, 0.7)]
    steps = [round((value - low) / dial["step"]) * dial["step"] + low if dial["type"] == "range" else value for value in some]
    return [round(value) if dial.get("whole") else value for value in steps]


def held(figure: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    yield from ((one, each) for one in figure["marks"] for each in holds(one.get("drag")))


def is_there(figure: dict[str, Any], one: dict[str, Any], each: dict[str, Any], value: Any) -> bool:
    """Whether the mark stands where the dial says; at the end of its axis what is beyond it counts."""
    axis, at = figure[each["axis"]], one[each["axis"]]
    wanted = place(each, value)
    if axis["scale"] == "band":
        return axis["names"].index(at) + 1 == wanted
    if wanted is None:  # between two stops
        stops = [stop for _, stop in each["stops"]]
        return min(stops) <= value <= max(stops) or at in (axis.get("domain") or ())
    low, high = axis.get("domain") or (-math.inf, math.inf)
    return math.isclose(at, min(max(wanted, low), high), rel_tol=1e-4, abs_tol=1e-9)


@pytest.mark.parametrize("opened", SLUGS, indirect=True)
def test_a_mark_stands_where_its_dial_does(opened):
    slug, instruments = opened
    seen, wrong = set(), []
    for name, instrument in instruments.items():
        start, drawn = figures(instrument, {})
        dials = {dial["id"]: dial for dial in instrument.dials(start)}
        turns = {each["dial"] for figure in drawn for _, each in held(figure)}
        assert turns <= set(dials), f"{name}: a mark stands for a dial that is not there"
        seen |= {(slug, figure["id"], each["dial"]) for figure in drawn for _, each in held(figure)}
        for turned in turns:
            for value in (start[turned], *([] if dials[turned].get("hidden") else somewhere(dials[turned])[: 2 if RELEASE else 1])):
                stand, now = figures(instrument, {**start, turned: value})
                wrong += [
                    f"{name} {figure['id']}: {turned} is {stand[turned]}, its mark at {one[each['axis']]}"
                    for figure in now
                    for one, each in held(figure)
                    if each["dial"] == turned and "pin" not in each and not is_there(figure, one, each, stand[turned])
                ]
    assert wrong == []
    assert {one for one in EXPECTED if one[0] == slug} <= seen


@pytest.mark.parametrize("opened", SLUGS if RELEASE else SLUGS[:1], indirect=True)  # every dial at three places: all before a release
def test_what_moves_with_a_dial_can_be_moved(opened):
    """A point or a rule whose place is in proportion to a dial, and that does not stand for it."""
    fixed = set()
    for instrument in opened[1].values():
        start, _ = figures(instrument, {})
        for dial in instrument.dials(start):
            if dial["type"] not in ("range", "log") or dial.get("hidden"):
                continue
            values = (dial["min"], *somewhere(dial))
            rows = [
                {(f["id"], m.get("id")): m for f in figures(instrument, {**start, dial["id"]: v})[1] for m in f["marks"]} for v in values
            ]
            for key in set.intersection(*map(set, rows)):
                if rows[0][key]["type"] not in ("point", "rule") or rows[0][key].get("drag"):
                    continue
                for axis in "xy":
                    at = [row[key].get(axis) for row in rows]
                    numbers = all(isinstance(a, (int, float)) for a in at) and len(set(at)) == 3
                    if numbers and len({round(a / v, 6) for a, v in zip(at, values, strict=True) if v}) == 1:
                        fixed.add(" ".join(map(str, key)))
    assert fixed <= DERIVED


TABLE = Table(("a",), (("1",),))


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (lambda: hold("n", "z"), "axis"),
        (lambda: hold("n", per=0.0), "above 0"),
        (lambda: mark("bar", x=1.0, y="a", drag=hold("n")), "a bar stands for the dial 'n'"),
        (lambda: mark("rule", y="a", drag=hold("n")), "along x"),
        (lambda: mark("rule", y="a", drag=hold("n", "y")), "along y"),
    ],
)
def test_a_mark_without_a_single_place_stands_for_no_dial(what, why):
    with pytest.raises(IronlawError, match=why):
        Figure("f", "F", Axis("linear"), Axis("band", names=("a",)), (what(),), "It is 1.", TABLE)


def test_a_mark_may_stand_for_two_dials():
    both = mark("point", x=1.0, y=2.0, drag=(hold("a"), hold("b", "y", per=1e-3)))
    drawn = Figure("f", "F", Axis("linear"), Axis("linear"), (both,), "It is 1.", TABLE).to_dict()
    assert [each["dial"] for each in holds(drawn["marks"][0]["drag"])] == ["a", "b"]
    assert place(hold("b", per=1e-3), 2000) == 2.0 and place(hold("c", stops=[(5, "x")]), "y") is None
