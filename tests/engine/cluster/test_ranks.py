"""Ranks, places and groups of a layout, counted out."""

from collections import Counter

import pytest

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.ranks import kinship, place, rank_at
from ironlaw.errors import BadValue

LAYOUT = Layout(tensor=2, context=3, data=2, pipeline=4)


def test_every_rank_has_one_place() -> None:
    places = [place(LAYOUT, rank) for rank in range(LAYOUT.devices)]
    assert len(set(places)) == LAYOUT.devices and [rank_at(LAYOUT, at) for at in places] == list(range(LAYOUT.devices))


@pytest.mark.parametrize(("rank", "stages_beside"), [(0, 1), (13, 2), (47, 1)])
def test_a_device_has_as_many_of_each_kin_as_its_groups_have_members(rank: int, stages_beside: int) -> None:
    kin = Counter(kinship(LAYOUT, rank, other) for other in range(LAYOUT.devices))
    assert kin == {"self": 1, "tensor": 1, "context": 2, "data": 1, "pipeline": stages_beside, "": 48 - 5 - stages_beside}


def test_a_rank_beyond_the_last_is_refused() -> None:
    with pytest.raises(BadValue, match="rank 48 is not one of 48 devices; give one from 0 to 47"):
        place(LAYOUT, 48)
