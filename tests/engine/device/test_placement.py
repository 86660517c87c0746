"""Where a tensor lives, against the A100's data sheet: registers 27 MiB, shared 20.25 MiB, L2 40 MiB, HBM 80 GB."""

import pytest

from ironlaw import hardware
from ironlaw.engine.device.op_placement import ladder, lives
from ironlaw.errors import BadValue

MIB = 2**20


@pytest.mark.parametrize(
    ("size", "passed_on", "place"),
    [
        (1, False, "registers"),
        (27 * MIB, False, "registers"),
        (27 * MIB + 1, False, "l2"),  # shared memory is smaller than the register file
        (1, True, "l2"),  # nothing of a kernel's own outlasts it
        (40 * MIB, True, "l2"),
        (40 * MIB + 1, True, "main"),
        (79 * 2**30, False, "main"),
        (79 * 2**30 + 1, False, None),  # 80 GiB less what driver and context keep
    ],
)
def test_the_fastest_level_that_holds_it_and_lasts(size, passed_on, place):
    found = lives(hardware("a100_80gb_sxm"), size, passed_on)
    assert (found.name if found else None) == place


def test_the_ladder_ends_in_main_memory_also_where_nothing_else_is_known():
    assert [level.name for level in ladder(hardware("a100_80gb_sxm"))] == ["registers", "shared", "l2", "main"]
    bare = ladder(hardware("a17_npu"))
    assert bare[-1].name == "main" and bare[-1].size == hardware("a17_npu").capacity


def test_a_size_that_is_none():
    with pytest.raises(BadValue, match=r"^tensor size is 0;"):
        lives(hardware("a100_80gb_sxm"), 0, True)
