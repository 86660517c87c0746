"""Fabrics drawn: the busiest subtree is never left out, colours follow the load, and words say the same."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.fabric import MOST, Span, Subtree, colour, drawn, torus, tree


@pytest.mark.parametrize(("load", "name"), [(0, "muted"), (0.5, "good"), (0.51, "warn"), (1.0, "warn"), (1.01, "fail")])
def test_colours_follow_the_load(load: float, name: str) -> None:
    assert colour(load) == name


@pytest.mark.parametrize("busiest", [0, 7, 63])
def test_the_busiest_is_always_drawn(busiest: int) -> None:
    leaves = [Subtree(f"leaf {i}", 2.0 if i == busiest else 0.1) for i in range(64)]
    chosen = drawn(leaves)
    assert busiest in chosen and len(set(chosen)) == MOST
    picture = tree([leaves], "A fabric", top="spine", text="Words.").to_dict()
    lines = {mark["id"]: mark["colour"] for mark in picture["marks"] if mark["id"].startswith("up-")}
    assert lines[f"up-leaf {busiest}"] == "fail" and len(lines) == MOST and "16 of 64 drawn" in picture["note"]
    assert len(picture["table"]["rows"]) == 64


def test_ports_take_the_colour_of_their_own_load() -> None:
    leaves = [Subtree("leaf 1", 0.125, ports=1.0), Subtree("leaf 2", 4.0, ports=0.25)]
    marks = {mark["id"]: mark for mark in tree([leaves], "A fabric", top="spine", text="Words.").to_dict()["marks"]}
    assert [marks[f"ports-{i}"]["colour"] for i in (0, 1)] == [colour(1.0), colour(0.25)]


def test_the_ring_goes_through_every_host_and_over_the_top_once_a_leaf() -> None:
    leaves = [Subtree(f"leaf {i}", 0.125, ports=1.0) for i in range(4)]
    picture = tree([leaves], "A fabric", top="spine", text="Words.", ring="the ring").to_dict()
    marks = {mark["id"]: mark for mark in picture["marks"]}
    through = [tuple(point) for i in range(4) for point in marks[f"ring-{i}"]["points"]]
    hosts = [(mark["x"], mark["y"]) for name, mark in marks.items() if name.startswith("host")]
    assert sorted(hosts) == through and len(hosts) == 12
    hops = [marks[f"hop-{i}"]["points"] for i in range(3)]
    assert all((tuple(hop[0]), tuple(hop[-1])) == (through[3 * i + 2], through[3 * i + 3]) for i, hop in enumerate(hops))
    assert max(y for _, y in hops[0]) > marks["switch-0-0"]["y"] and {tuple(p) for p in marks["back"]["points"]} >= {
        through[0],
        through[-1],
    }
    assert "over the top once for each leaf" in picture["text"] and "the ring" in [item["label"] for item in picture["legend"]]
    bare = tree([leaves], "A fabric", top="spine", text="Words.").to_dict()
    assert bare["text"] == "Words." and not [mark for mark in bare["marks"] if mark["colour"] == "accent"]


def test_whose_hosts_they_are_stands_below_them() -> None:
    leaves = [Subtree(f"leaf {i}", 0.1) for i in range(4)]
    spans = (Span("one", 0.0, 0.5), Span("other", 0.5, 1.0))
    picture = tree([leaves], "A fabric", top="spine", text="Words.", spans=spans).to_dict()
    marks = {mark["id"]: mark for mark in picture["marks"]}
    (start, low), (end, _) = marks["span-one"]["points"]
    assert start < marks["hosts-0"]["x"] < marks["hosts-1"]["x"] < end < marks["hosts-2"]["x"] and low < marks["hosts-0"]["y"]
    assert picture["y"]["domain"][0] <= marks["name-one"]["y"] < low and marks["name-other"]["label"] == "other"


def test_leaves_hang_under_their_pod() -> None:
    leaves, pods = [Subtree(f"leaf {i}", 0.1) for i in range(4)], [Subtree(f"pod {i}", 0.1) for i in range(2)]
    marks = {mark["id"]: mark for mark in tree([leaves, pods], "A fabric", top="top", text="Words.").to_dict()["marks"]}
    ends = [marks[f"up-leaf {i}"]["points"][-1] for i in range(4)]
    assert ends[0] == ends[1] == [marks["switch-1-0"]["x"], marks["switch-1-0"]["y"]] != ends[2] == ends[3]


def test_a_slice_of_a_torus() -> None:
    picture = torus((16, 8, 4), (2.0, 1.0, 0.5), "A torus", text="Words.", cut="the middle").to_dict()
    ways = {mark["name"]: mark["colour"] for mark in picture["marks"] if mark["type"] == "line"}
    assert ways == {"links across": "fail", "links up": "warn"} and "16 × 8 × 4" in picture["note"]


def test_a_fabric_without_leaves_is_refused() -> None:
    with pytest.raises(BadValue, match="at least one"):
        tree([[]], "A fabric", top="spine", text="Words.")
