"""A figure refuses what could not be drawn or read."""

import pytest

from ironlaw.engine.device.machine import Figure as Sourced
from ironlaw.errors import BadValue, UnknownName
from ironlaw.pictures.theme import context_colour, tone
from ironlaw.widget.colours import COLOURS
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import cite, exact, format_quantity, in_one_unit, share

TABLE = Table(("a", "b"), (("x", "1"),))


def figure(*marks, x=None, y=None, **more):
    given = {"text": "words", "table": TABLE} | more
    return Figure("f", "Title", x or Axis("log", "time", "s"), y or Axis("band", names=("a", "b")), marks, **given)


def test_a_figure_as_the_widget_takes_it():
    made = figure(
        mark("dot", "memory", x=2.0, y="a", label="2 s", emphasis=True, pattern=False, hover=[("exactly", "2 s"), "", "a source"]),
        x=Axis("log", "time", "s", (1.0, 10.0), ticks=(1.0, 10.0)),
        note="n",
        legend=({"colour": "memory", "label": "data"},),
    )
    data = made.to_dict()
    assert data["marks"] == [
        {"type": "dot", "colour": "memory", "x": 2.0, "y": "a", "emphasis": True, "label": "2 s", "hover": [["exactly", "2 s"], "a source"]}
    ]
    assert data["x"] == {"scale": "log", "label": "time", "unit": "s", "domain": [1.0, 10.0], "ticks": [1.0, 10.0]}
    assert data["y"]["names"] == ["a", "b"]
    assert data["table"] == {"columns": ["a", "b"], "rows": [["x", "1"]]}
    assert (data["note"], data["legend"][0]["label"]) == ("n", "data")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: mark("bar", "blue"), "semantic colour 'blue'"),
        (lambda: mark("pie"), "no mark 'pie'"),
        (lambda: mark("point", shape="star"), "no shape 'star'"),
        (lambda: mark("rule", role="guess"), "no role 'guess'"),
        (lambda: Axis("cubic"), "no scale 'cubic'"),
        (lambda: Axis("band"), "at least one"),
        (lambda: Axis("band", names=("a", "a")), "each once"),
        (lambda: Axis("log", "t", domain=(0.0, 1.0)), "above 0"),
        (lambda: Axis("linear", "t", domain=(2.0, 1.0)), "a lower and a higher end"),
        (lambda: Table(("a",), ()), "empty"),
        (lambda: Table(("a",), (("x", "y"),)), "2 cells for 1 columns"),
        (lambda: figure(mark("dot", x=1.0, y="a"), text=" "), "no text"),
        (figure, "no marks"),
        (lambda: figure(mark("bar", x=1.0, y="a")), "draw a dot"),
        (lambda: figure(mark("bar", x0=1.0, x1=2.0, y="a")), "draw a dot"),
        (lambda: figure(mark("bar", x=3.0, y="a"), x=Axis("linear", "time", "s", (2.0, 4.0))), "hold zero"),
        (lambda: figure(mark("bar", y=3.0, x="a"), x=Axis("band", names=("a",)), y=Axis("log", "time", "s")), "draw a dot"),
        (lambda: figure(mark("dot", x=1.0, y="c")), "'c'"),
        (lambda: figure(mark("dot", x=-1.0, y="a")), "log axis does not hold"),
        (lambda: figure(mark("dot", x=float("nan"), y="a")), "nan"),
        (lambda: figure(mark("line", points=[(1.0, float("inf"))]), y=Axis("linear")), "inf"),
    ],
)
def test_what_a_figure_refuses(make, says):
    with pytest.raises((BadValue, UnknownName), match=says.replace("(", r"\(")):
        make()


def test_a_zero_may_stand_on_a_log_axis():
    assert figure(mark("dot", x=0.0, y="a")).to_dict()["marks"][0]["x"] == 0.0


def test_figures_in_words():
    assert format_quantity(3.35e12, "B/s") == "3.35\u202fTB/s"
    assert format_quantity(524288, "B") == "524\u202fkB"  # one unit in a picture: 256 MiB beside 805 MB can't be compared
    assert format_quantity(2**28, "B") == "268\u202fMB"
    assert format_quantity(80e9, "B") == "80\u202fGB"
    assert format_quantity(989000, "×") == "9.89\u202f×\u202f10⁵"
    assert exact(3.35e12, "B/s") == "3,350,000,000,000\u202fB/s"
    assert exact(7) == "7"
    assert share(1, 3) == "33.3%"


def test_figures_side_by_side_have_one_unit():
    time, size = in_one_unit((3.28e-7, 3.36e-5), "s"), in_one_unit((16.1e9, 5.37e8), "B")
    assert [time(value) for value in (3.28e-7, 3.36e-5, 0.0)] == ["0.328\u202fµs", "33.6\u202fµs", "0\u202fµs"]
    assert size(5.37e8) == "0.537\u202fGB" and in_one_unit((300.0,), "s")(30.0) == "0.5\u202fmin"


def test_an_estimate_says_that_it_is_one():
    assert cite(Sourced(1.0, "W", "datasheet", "2023-03")) == "datasheet, 2023-03"
    assert cite(Sourced(1.0, "W", "us", "2026-11", estimate=True, why="About.")) == "Estimate: About. (us, 2026-11)"
    assert cite(None) == ""
    assert cite("as said") == "as said"


@pytest.mark.parametrize(
    ("quantity", "value", "is_so"),
    [
        ("utilization", 0.70, "good"), ("utilization", 0.69, "middling"), ("utilization", 0.39, "bad"),
        ("mfu", 0.51, "good"), ("mfu", 0.50, "middling"), ("mfu", 0.20, "bad"),
        ("fusion_speedup", 3.0, "good"), ("fusion_speedup", 1.5, "middling"), ("fusion_speedup", 1.4, "bad"),
        ("gap", 1e6, "good"), ("gap", 989_000, "middling"), ("gap", 9_999, "bad"),
        ("memory", 0.8, "good"), ("memory", 0.81, "middling"), ("memory", 1.0, "middling"), ("memory", 1.01, "bad"),
    ],
)  # fmt: skip
def test_thresholds(quantity, value, is_so):
    assert tone(quantity, value) == is_so


def test_an_unknown_threshold_names_the_known_ones():
    with pytest.raises(UnknownName, match="fusion_speedup"):
        tone("speed", 1.0)


def test_contexts_have_their_hue_and_others_none():
    assert context_colour("tiny") == "tiny"
    assert context_colour("desktop") in COLOURS
