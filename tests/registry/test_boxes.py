"""registry/interconnect and registry/box: every figure sourced, collectives within the wire, and what is wrong in a file is named."""

import math

import pytest
from rates import unlabelled

from ironlaw.engine.cluster.collectives import KINDS, bus_factor
from ironlaw.engine.cluster.library import collective, switch_adds, switch_factor
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry import boxes as box_files
from ironlaw.registry import interconnects as wire_files
from ironlaw.registry.boxes import box, boxes, fitted
from ironlaw.registry.interconnects import interconnect, interconnects
from ironlaw.registry.loader import folder, read
from ironlaw.registry.machines import hardware


@pytest.mark.parametrize("slug", interconnects())
def test_no_wire_is_faster_than_it_is_built_for(slug: str) -> None:
    wire = interconnect(slug)
    assert 0.5 < wire.efficiency <= 1 and wire.per_direction * wire.directions == pytest.approx(wire.advertised)


@pytest.mark.parametrize("slug", boxes())
def test_a_box_is_of_known_devices_and_its_collectives_keep_to_the_wire(slug: str) -> None:
    one = box(slug)
    assert hardware(one.device).slug == one.device and one.sources and one.start > 0
    for name in read(folder("box") / f"{slug}.toml")["aliases"]:
        assert box(name.upper()) == one
    if one.link is None:
        return
    assert one.bus <= one.link.per_direction
    for kind in KINDS:
        for size in (1e6, 1e8, 1e12):
            seconds = collective(one, kind, one.group, size)
            carried = min(bus_factor(kind, one.group), switch_factor(one.group) if switch_adds(one, kind, one.group) else math.inf)
            assert carried * size / seconds < one.link.per_direction


@pytest.mark.parametrize("slug", [slug for slug in boxes() if fitted(slug)])
def test_two_numbers_are_as_near_as_the_docs_say(slug: str) -> None:
    errors = fitted(slug)
    assert errors["opened"] <= 0.15 and errors["held_out"] <= 0.15 and errors["alone"] <= 0.30


def test_wires_agree_with_the_machines_that_have_them() -> None:
    for slug, wire in (("h100_sxm", "nvlink4"), ("a100_80gb_sxm", "nvlink3"), ("gb200", "nvlink5")):
        known = {link.name: link.per_direction for link in hardware(slug).links}
        assert next(rate for name, rate in known.items() if name.startswith("NVLink")) == interconnect(wire).per_direction


def test_unknown_names_say_where_to_add_one() -> None:
    with pytest.raises(UnknownName, match=r"no box 'dgx_h10'; did you mean .*dgx_h100.*/box/dgx_h10\.toml"):
        box("dgx_h10")
    with pytest.raises(UnknownName, match=r"no interconnect 'nvlink9'.*registry/interconnect/nvlink9\.toml"):
        interconnect("nvlink9")


SOURCED = '{ value = "%s", source = "s", date = "2026", basis = "planned" }'
RATES = dict(zip(wire_files.FIGURES, ("4 GB/s", "2 GB/s", "1 GB/s"), strict=True))
WIRE = "\n".join(['name = "w"', "directions = 2", *(f"{key} = {SOURCED % value}" for key, value in RATES.items())])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "w"', "", "no name"),
        ("directions = 2", "directions = 3", "directions is 3; write 2"),
        ('"4 GB/s"', '"5 GB/s"', r"\[per_direction\] is not \[advertised\] over 2"),
        ('"1 GB/s"', '"3 GB/s"', r"\[achieved\] is above \[per_direction\]"),
        ("achieved =", "reached =", r"no \[achieved\]"),
        ('"planned"', '"hoped"', "basis is 'hoped'; say how the figure is known: planned, fitted"),
    ],
)
def test_a_bad_wire_is_refused(tmp_path, old: str, new: str, message: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(WIRE)
    assert wire_files.load(path).achieved == 1e9
    path.write_text(WIRE.replace(old, new))
    with pytest.raises(BadRegistry, match=message):
        wire_files.load(path)


BOX = 'name = "b"\ndevice = "h100_sxm"\nsource = "s"\ndate = "2026"\ndevices = 4\nlink = "nvlink4"\nnic = "ndr400"\nnics = 4\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "s"', "", "no source"),
        ("h100_sxm", "h900", "device is 'h900'; name a machine"),
        ("devices = 4", "devices = true", "devices is True; write a whole number"),
        ("devices = 4", "devices = 4\ngroup = 3", "4 devices are not groups of 3"),
        ("nics = 4\n", "", "nic and nics go together"),
        ('link = "nvlink4"', "", "a group of 4 devices without a link"),
        ("nvlink4", "nvlink9", "link: no interconnect 'nvlink9'"),
        ("nics = 4\n", f"nics = 4\nbus = {SOURCED % '451 GB/s'}\n", r"\[bus\] is above what nvlink4 is built for"),
        ("nics = 4\n", f"nics = 4\nsums = {SOURCED % '451 GB/s'}\n", r"\[sums\] needs a link rated for as much"),
    ],
)
def test_a_bad_box_is_refused(tmp_path, old: str, new: str, message: str) -> None:
    path = tmp_path / "b.toml"
    path.write_text(BOX)
    assert box_files.load(path).nics == 4
    path.write_text(BOX.replace(old, new))
    with pytest.raises(BadRegistry, match=message):
        box_files.load(path)


def test_a_passage_with_a_rate_says_how_the_rate_is_known() -> None:
    for text in (
        "A bridge carries 240 GB/s each way, and two cards use it.",
        "An all-reduce runs at 371 GB/s over all of them, whatever they do.",
    ):
        assert unlabelled(text), text
    for text in (
        "NCCL plans with 240 GB/s each way for such a bridge.",
        "NVLink 240 GB/s",
        "Its 450 GB/s are both directions, in a box of eight.",
    ):
        assert not unlabelled(text), text
