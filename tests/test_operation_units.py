"""Integers have operations, floating-point numbers have FLOPs: wherever work, a rate or an intensity is shown."""

import re
from dataclasses import replace

import pytest

from ironlaw import hardware, workload
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.errors import BadRegistry
from ironlaw.formats import FORMATS, intensity_unit, operation, rate_unit
from ironlaw.pages.explore.explore_sections import sections
from ironlaw.pictures.curve_picture import curve
from ironlaw.pictures.ladder import Rung, ladder
from ironlaw.pictures.roofline_picture import roofline
from ironlaw.pictures.roofs import Dot, Roof, roofs
from ironlaw.recall.card_templates import templates
from ironlaw.recall.card_variants import variant

INTEGERS = ("int4", "int8", "int16", "int32", "int64", "bool")
FLOATS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "complex64", "complex128")
FLOP = re.compile(r"[kMGTP]?FLOP(/[sB])?\b")
OP = re.compile(r"(?<![A-Z])[kMGTP]?OP(/[sB])?\b")


def test_the_format_decides() -> None:
    assert {*INTEGERS, *FLOATS} == set(FORMATS)
    for fmt in FORMATS:
        what = "OP" if fmt in INTEGERS else "FLOP"
        assert (operation(fmt), rate_unit(fmt), intensity_unit(fmt)) == (what, f"{what}/s", f"{what}/B")
    assert (rate_unit("fp8", "int8"), intensity_unit("fp8", "int8")) == ("OP/s", "OP/B")  # one axis for both


def pictures(fmt: str) -> dict[str, str]:
    """Everything that a picture says of work in this format."""
    machine = hardware("h100_sxm")
    roof, graph = Roof(machine, fmt, "H100"), workload("mobilenet_v2", dtype=fmt)
    dot = Dot("d", "a product", 2e9, 1e7, roof, label="here")
    works = [(batch, workload("mobilenet_v2", dtype=fmt, batch=batch).work) for batch in (1, 2)]
    return {
        "roofs": repr(roofs([roof], [dot], (1.0, 1e3))),
        "roofline": repr(roofline(predict(graph, machine, Plan(calibrated=False)))),
        "curve": repr(curve({"whole": works}, machine, fmt)),
        "ladder": repr(ladder([Rung(machine, fmt)], "compute")),
        "explore": repr(sections(predict(graph, machine, Plan(calibrated=False)))[0]),
    }


@pytest.mark.parametrize(("fmt", "right", "wrong"), [("int8", OP, FLOP), ("fp8", FLOP, OP)])
def test_pictures_count_in_the_unit_of_their_format(fmt: str, right: re.Pattern[str], wrong: re.Pattern[str]) -> None:
    for name, text in pictures(fmt).items():
        assert right.search(text), f"{name} names no unit of {fmt}"
        assert not wrong.search(text), f"{name} in {fmt} says {wrong.search(text)[0]!r}"


def test_two_formats_under_one_ridge_count_operations() -> None:
    both = [Roof(hardware("h100_sxm"), fmt, "H100") for fmt in ("fp8", "int8")]
    labels = [each.label for each in roofs(both, [], (1.0, 1e3)).marks if each.type == "rule"]
    assert labels == ["ridge 591\u202fOP/B"]


@pytest.mark.parametrize("name", ["ridge_point", "gemm_crossing", "int8_ridge"])
def test_cards_about_integers_ask_for_operations(name: str) -> None:
    seen = set()
    for seed in range(40):
        card = variant(templates()[name], seed)
        fmt = card.values.get("format", "int8")
        text = f"{card.text} {card.answer} {card.working} {card.unit}"
        integer = fmt == "int8"
        peaks = name == "int8_ridge"  # it names FP16's rate on purpose
        assert OP.search(text) if integer else FLOP.search(text)
        assert peaks or not (FLOP if integer else OP).search(text), text
        assert "FLOP/B" not in text if integer else "OP/B" not in text.replace("FLOP/B", "")
        seen.add(fmt)
    assert "int8" in seen


def test_a_unit_in_a_format_that_nothing_draws_is_the_authors_error() -> None:
    with pytest.raises(BadRegistry, match=r"wonder.*int8"):
        variant(replace(templates()["ridge_point"], unit="FLOP/B in wonder"), 0)
