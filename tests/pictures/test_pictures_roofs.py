"""The interactive roofline as the widget gets it, against figures by hand."""

import pytest

from ironlaw import hardware
from ironlaw.errors import BadValue
from ironlaw.pictures.roofs import Dot, Roof, roofs

H100, A100 = hardware("h100_sxm"), hardware("a100_80gb_sxm")
FP16 = Roof(H100, "fp16", "H100")


def dot(**more):
    """A square FP16 product of N = 512."""
    return Dot("now", "N = 512", 2 * 512**3, 3 * 512**2 * 2, FP16, **more)


def marks(figure, kind):
    return [m for m in figure.to_dict()["marks"] if m["type"] == kind]


def test_a_roof_is_a_slope_a_ceiling_and_a_ridge():
    figure = roofs([FP16], [dot()], (0.1, 1e4))
    slope, flat = marks(figure, "line")
    assert slope["points"] == [[0.1, pytest.approx(0.335e12)], [pytest.approx(295.2, abs=0.1), 989e12]] and slope["colour"] == "memory"
    assert flat["points"] == [[pytest.approx(295.2, abs=0.1), 989e12], [1e4, 989e12]] and flat["colour"] == "compute"
    assert marks(figure, "rule")[0]["label"] == "ridge 295\u202fFLOP/B"
    assert [m["label"] for m in marks(figure, "area")] == ["memory-bound", "compute-bound"]


def test_a_dot_stands_on_its_roof_or_where_it_was_measured():
    on, under = dot(), dot(rate=67e12, seconds=4e-6, source="evidence")
    assert on.height == pytest.approx(572e12, rel=0.001) and on.figures["bound"] == "memory-bound" and "reached" not in on.figures
    assert under.height == 67e12 and under.figures["of the roof"] == "11.7%" and under.figures["takes"] == "4\u202fµs"
    drawn = roofs([FP16], [under], (0.1, 1e4))
    assert marks(drawn, "point")[0]["hover"][-1] == "evidence"
    told = [row for line in marks(drawn, "line") for row in line.get("hover", ())]  # the roofs tell their own sources
    assert any("bandwidth:" in str(row) for row in told) and any("peak:" in str(row) for row in told)


def test_what_formats_share_is_drawn_once():
    figure = roofs([Roof(H100, fmt, "H100") for fmt in ("fp16", "bf16", "fp8", "int8")], [dot()], (0.1, 1e4))
    assert len([m for m in marks(figure, "line") if m["id"].startswith("slope")]) == 1
    flats = [m["label"] for m in marks(figure, "line") if m["id"].startswith("flat")]
    assert flats == ["989\u202fTFLOP/s FP16, BF16", "1.98\u202fPOP/s FP8, INT8"] and len(marks(figure, "rule")) == 2


def test_ceilings_that_are_one_line_share_their_words():
    h200 = Roof(hardware("h200_sxm"), "fp16", "H200")
    flats = [m for m in marks(roofs([FP16, h200, Roof(A100, "fp16", "A100")], [dot()], (0.1, 1e4)), "line") if m["id"].startswith("flat")]
    assert [m.get("label", "").replace("\u202f", " ") for m in flats] == ["H100, H200: 989 TFLOP/s FP16", "", "A100: 312 TFLOP/s FP16"]


def test_levels_and_machines_have_names_of_their_own():
    figure = roofs([FP16, Roof(H100, "fp16", "H100", "l2"), Roof(A100, "fp16", "A100")], [dot(drop=True)], (0.1, 1e4))
    labels = [m["label"].replace("\u202f", " ") for m in marks(figure, "rule")]
    assert labels[0] == "H100 295 FLOP/B" and labels[1].startswith("H100 L2") and labels[2] == "A100 153 FLOP/B"
    assert figure.more["height"] > roofs([FP16], [dot()], (0.1, 1e4)).more["height"]  # room for the labels
    assert any(m["id"] == "drop-now" for m in marks(figure, "line"))
    assert "Estimate" in FP16.sources[0] or "NVIDIA" in FP16.sources[0]
    assert Roof(H100, "fp16", "H100", "l2").sources[0].startswith("bandwidth: ")


def test_the_axes_grow_for_what_lies_outside():
    far = Dot("far", "far", 1.0, 1000.0, FP16)
    figure = roofs([FP16], [far], (0.1, 100.0))
    left, right = figure.x.domain
    assert left < 0.001 and right > 2 * 295


def test_words_and_table_say_the_same():
    figure = roofs([FP16], [dot(label="here")], (0.1, 1e4))
    assert "N = 512: 171\u202fFLOP/B at 572\u202fTFLOP/s, memory-bound" in figure.text and "ridge 295" in figure.text
    assert figure.table.rows[0][:2] == ("N = 512", "268\u202fMFLOP") and figure.table.rows[-1][0] == "ridge, H100, FP16"


def test_no_roof_is_an_error():
    with pytest.raises(BadValue, match="at least one roof"):
        roofs([], [dot()], (0.1, 1e4))
