"""Parameters that are declared once: what people write is read alike everywhere; dials, settings and remedies follow from the field."""

from dataclasses import dataclass

import pytest

from ironlaw.errors import IronlawError
from ironlaw.kit import settings
from ironlaw.systems.fields import (
    among,
    figure,
    hundredths,
    one_of,
    parameter,
    parameters,
    share,
    switch,
    thousandths,
    times,
    whole,
)
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.systems.value_readers import read_figure, read_share, read_whole


@dataclass(frozen=True)
class Box:
    name: str
    tensor: int = among((1, 2, 4, 8), 2, "Tensor parallelism")
    rate: float = among((0.5, 1.0, 2.0), 1.0, "Rate", dial="span", log=True, shown="{:g}")
    recompute: str = among({"none": "nothing", "full": "all"}, "none", "Computed again", dial="select")
    runs: int = whole(10, "Runs", most=50, dial="span", tried=(1, 5, 10))
    late: float = figure(0.05, "Between tokens", "s")
    used: float = share(0.9, "Memory used")
    overlap: bool = switch(True, "Overlap")
    machine: str = one_of(lambda: ("h100", "h200"), "h100", "Machine")


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("tensor", 4, 4), ("rate", 2.0, 2.0), ("recompute", "full", "full"), ("runs", "7", 7), ("runs", 50, 50), ("late", "50 ms", 0.05),
        ("late", 0.1, 0.1), ("used", "15%", 0.15), ("used", 1, 1.0), ("overlap", False, False), ("machine", "h200", "h200"),
    ],
)  # fmt: skip
def test_what_people_write_is_read(name, written, value):
    assert parameter(Box, name).read(written) == value


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("tensor", 3), ("tensor", True), ("runs", 0), ("runs", 51), ("runs", 1.5), ("runs", True), ("runs", "x"), ("late", 0), ("late", -1),
        ("late", float("nan")), ("late", "5 GB"), ("late", True), ("late", []), ("used", 1.5), ("used", "150%"), ("used", None),
        ("used", True), ("overlap", 1), ("machine", "h300"), ("machine", 3), ("recompute", "some"),
    ],
)  # fmt: skip
def test_what_can_t_be_is_refused_with_the_value(name, written):
    with pytest.raises(IronlawError, match=r"h300|\w|\d") as error:
        parameter(Box, name).read(written)
    assert str(written)[:3] in str(error.value)


def test_bare_readers():
    assert read_whole("0", least=0) == 0 and read_figure("1,450") == 1450.0 and read_figure(0, zero=True) == 0.0
    assert read_share("0.5") == 0.5
    with pytest.raises(IronlawError):
        read_share(0, above=True)


def test_fields_of_other_kinds_are_no_parameters():
    assert list(parameters(Box)) == ["tensor", "rate", "recompute", "runs", "late", "used", "overlap", "machine"]
    with pytest.raises(IronlawError, match="tensor"):
        parameter(Box, "tensors")


def test_dials_are_read_off_and_a_setting_off_the_dials():
    dials = settings.dials(Box, tensor={"value": 8, "disabled": {1: "too slow"}}, overlap={"help": "beside it"})
    by_id = {dial["id"]: dial for dial in dials}
    assert list(by_id) == ["tensor", "rate", "recompute", "runs", "overlap"]
    assert by_id["tensor"]["value"] == 8 and by_id["tensor"]["options"][0] == {"value": 1, "label": "1", "disabled": "too slow"}
    assert by_id["rate"]["steps"] == [0.5, 1.0, 2.0] and by_id["rate"]["type"] == "log"
    assert by_id["recompute"]["options"][1]["label"] == "all" and by_id["runs"]["whole"] and by_id["overlap"]["help"] == "beside it"
    turned = {dial["id"]: dial["value"] for dial in dials} | {"rate": 1.9, "runs": 7.0, "pins": []}
    assert settings.read(Box, turned, name="x", tensor=4) == Box("x", tensor=4, rate=2.0, runs=7)


LIMITS = (
    fail("small", "Too few", lambda box: box.tensor * box.runs < 40),
    fail("slow", "Too slow", lambda box: box.rate < 1),
    good("works", "It works"),
)


def test_the_first_limit_counts():
    assert hit(LIMITS, Box("x", rate=0.5)).name == "small" and hit(LIMITS, Box("x", tensor=4, rate=0.5)).name == "slow"


@dataclass(frozen=True)
class Timed:
    every: float = figure(60, "Saved every", "min", low=1, high=1440, dial="span", log=True, means=times(60.0))
    part: float = figure(lambda: 25.0, "Part", "%", low=0, high=100, dial="span", means=hundredths)
    late: float = figure(50, "Late", "ms", low=1, high=100, dial="span", means=thousandths)
    steps: int = among(("1", "20"), "20", "Steps", means=int)
    nics: int | None = whole(None, "NICs", dial="span", most=8)


def test_a_dial_may_be_in_another_unit_than_its_field():
    assert Timed() == Timed(3600.0, 0.25, 0.05, 20, None)
    dials = {dial["id"]: dial for dial in settings.dials(Timed, nics={"value": 2})}
    assert (dials["every"]["value"], dials["part"]["value"], dials["steps"]["value"]) == (60, 25.0, "20")
    turned = settings.read(Timed, {"every": 2, "part": 10, "late": 1, "steps": "1", "nics": 4.0})
    assert turned == Timed(120.0, 0.1, 0.001, 1, 4) and settings.values(turned, "steps", "nics") == {"steps": 1, "nics": 4}


def test_a_dial_offers_all_options_though_a_remedy_tries_few():
    @dataclass(frozen=True)
    class Kept:
        again: str = among({"none": "nothing", "full": "all"}, "none", "Again", tried=("full",))

    (dial,) = settings.dials(Kept)
    assert [option["value"] for option in dial["options"]] == ["none", "full"]
    (renamed,) = settings.dials(Kept, again={"shown": str.upper, "options": ["full"]})
    assert [option["label"] for option in renamed["options"]] == ["FULL"]


def test_a_warning_is_no_breach():
    limits = (fail("slow", "Slow", lambda one: one.late > 0.08), warn("near", "Nearly", lambda one: one.late > 0.04), good("ok", "Fine"))
    assert [settings.broken(limits, Timed(late=late)) for late in (0.1, 0.05, 0.01)] == ["slow", None, None]
