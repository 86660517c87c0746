"""What a registry file must say before a time is transferred to its machine."""

from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw.calibration.transfer.chip_traits import chip, memory_kind, missing
from ironlaw.errors import BadValue


def test_a_chip_s_figures_are_the_file_s():
    a100 = chip(il.hardware("a100"))
    assert (a100.sms, a100.lanes, a100.clock, a100.cache, a100.memory, a100.maker) == (108, 64, 1.41e9, 40 * 2**20, "HBM", "NVIDIA")
    assert not a100.throttles and chip(il.hardware("t4")).throttles
    assert chip(il.hardware("mi300x")).cache == 256 * 2**20  # behind its L2 stands a larger one that outlasts kernels too


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"units": {"lanes": 64.0, "clock": 1e9}}, "sms"),
        ({"units": {"sms": 108.0, "clock": 1e9}}, "lanes"),
        ({"units": {"sms": 108.0, "lanes": 64.0}}, "clock"),
        ({"peaks": {"fp16": 1e12}}, r"peak\.fp32"),
        ({"backend": "xla"}, "times of xla kernels do not carry over"),
        ({"levels": ()}, "l2"),
    ],
)
def test_each_missing_figure_is_named(change, told):
    machine = replace(il.hardware("a100"), **change)
    with pytest.raises(BadValue, match=rf"nothing can be transferred to a100_80gb_sxm. What is missing: .*{told}"):
        chip(machine)
    assert missing(machine) and not missing(il.hardware("a100"))


@pytest.mark.parametrize(
    ("slug", "kind"), [("h100_sxm", "HBM"), ("rtx_5090", "GDDR"), ("m3_max", "LPDDR"), ("pi5", "LPDDR"), ("epyc_9654", None)]
)
def test_kinds_of_memory(slug, kind):
    assert memory_kind(il.hardware(slug)) == kind
