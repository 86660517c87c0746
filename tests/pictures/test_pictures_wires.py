"""Nodes and edges: neighbours stand side by side, the binding edge is named, and a dot is where its message is."""

from itertools import pairwise
from math import dist

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.wires import HEIGHT, WIDTH, Edge, Node, places, wires


@pytest.mark.parametrize(("boxes", "per_box"), [(1, 2), (1, 4), (1, 8), (2, 4), (2, 8)])
def test_neighbours_of_a_ring_are_neighbours_in_the_picture(boxes, per_box):
    spots = places(boxes, per_box)
    assert len(set(spots)) == boxes * per_box and all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in spots)
    if boxes == 2:
        (left_end, right_start), (right_end, left_start) = (spots[per_box - 1], spots[per_box]), (spots[-1], spots[0])
        for a, b in ((left_end, right_start), (right_end, left_start)):
            assert a[1] == pytest.approx(b[1])  # the edges between boxes are level, and the only ones there
        others = [b for b in spots[per_box:] if b not in (right_start, right_end)]
        assert all(dist(left_end, right_start) < dist(left_end, b) for b in others)


def test_no_room_for_three_boxes():
    with pytest.raises(BadValue, match="give 1 or 2"):
        places(3, 8)


def test_what_is_drawn_is_said_and_tabled():
    spots = places(1, 4)
    nodes = [Node(f"{i}", *spot, idle=i == 3) for i, spot in enumerate(spots)]
    edges = [
        Edge("0", "1", "NVLink", "240 GB/s", "memory", "NVLink 240 GB/s", done=1.4),
        Edge("1", "2", "PCIe", "24 GB/s", "overhead", "PCIe 24 GB/s", binding=True, done=0.5),
    ]
    figure = wires(nodes, edges, "A ring", text="A ring of three.").to_dict()
    assert figure["plain"] and figure["table"]["columns"] == ["edge", "wire", "bytes per second", "carried", ""]
    assert figure["table"]["rows"] == [["0 to 1", "NVLink", "240 GB/s", "100%", ""], ["1 to 2", "PCIe", "24 GB/s", "50%", "the slowest"]]
    dots = {mark["id"]: (mark["x"], mark["y"]) for mark in figure["marks"] if mark["id"].startswith("dot")}
    assert dots["dot-0 to 1"] == pytest.approx(spots[1])  # there, and waiting
    assert dots["dot-1 to 2"] == pytest.approx([(a + b) / 2 for a, b in zip(spots[1], spots[2], strict=True)])
    assert sum(mark.get("emphasis", False) for mark in figure["marks"]) == 1
    still = wires(nodes, [Edge(a.name, b.name, "w", "1 B/s") for a, b in pairwise(nodes)], "Still", text="No time.").to_dict()
    assert "carried" not in still["table"]["columns"] and not [m for m in still["marks"] if m["id"].startswith("dot")]
