"""Memory by device: every byte is drawn once, and every device holds the same part of each piece."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.errors import BadValue
from ironlaw.pictures.blocks_picture import MOST, Piece, blocks, merged
from ironlaw.widget.quantities import THIN


def drawn(figure, name):
    """(device, from, to) of the bars of a piece."""
    names = figure.x.names
    return [(names.index(dict(m.at)["x"]), dict(m.at)["y0"], dict(m.at)["y1"]) for m in figure.marks if m.name == name]


def test_every_device_holds_its_part_of_everything():
    pieces = [Piece("weights", 250.0, colour="overhead"), Piece("request 1", 100.0, 50.0, 0)]
    figure = blocks(pieces, 800.0, "Memory", devices=2)
    assert figure.x.names == ("0", "1") and figure.x.label == "GPU" and figure.y.domain == (0, 400)
    assert drawn(figure, "weights") == [(0, 0, 125), (1, 0, 125)]
    assert drawn(figure, "request 1") == [(0, 125, 175), (1, 125, 175), (0, 175, 200), (1, 175, 200)]  # in use, then what is reserved
    assert [m.name for m in figure.marks if dict(m.more).get("pattern")] == [*["request 1"] * 2, *["free"] * 2]
    assert figure.text.replace(THIN, " ") == "weights 250 B; 1 request holds 150 B, 50 B unused; free 400 B of 800 B."


@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 30)), min_size=1, max_size=12), st.integers(1, 9), st.floats(1.0, 3.0))
def test_no_byte_is_lost_or_drawn_twice(sizes, devices, room):
    pieces = [Piece(f"request {i}", used, waste, i) for i, (used, waste) in enumerate(sizes)]
    total = room * sum(p.size for p in pieces)
    figure = blocks(pieces, total, "Memory", devices=devices)
    bars = [dict(m.at) for m in figure.marks]
    assert sum(bar["y1"] - bar["y0"] for bar in bars) == pytest.approx(total, rel=1e-6)
    for name in figure.x.names:
        along = sorted((bar["y0"], bar["y1"]) for bar in bars if bar["x"] == name)
        assert all(a[1] <= b[0] + 1e-6 * total for a, b in pairwise(along))


def test_many_are_put_together_and_none_is_lost():
    pieces = [Piece("weights", 10.0), *(Piece(f"request {i}", 1.0, 0.5, i) for i in range(1000))]
    together = merged(pieces)
    assert len(together) <= MOST + 1 and sum(p.count for p in together[1:]) == 1000
    assert sum(p.size for p in together) == pytest.approx(1510)
    assert "1,000 requests hold 1.5 kB" in blocks(pieces, 2000.0, "Memory").text.replace(THIN, " ")


def test_more_than_there_is_room_for_is_refused():
    with pytest.raises(BadValue, match="do not fit"):
        blocks([Piece("weights", 11.0)], 10.0, "Memory")
