"""What a format swallows, by hand."""

import pytest

from ironlaw.engine.numerics.lost_updates import largest_lost


@pytest.mark.parametrize(
    ("weight", "significand", "lost"), [(1.0, 8, 2**-8), (1.5, 8, 2**-8), (2.0, 8, 2**-7), (1.0, 24, 2**-24), (0.75, 11, 2**-12)]
)
def test_half_of_the_distance_to_the_next_number(weight, significand, lost):
    assert largest_lost(weight, significand) == lost
    assert largest_lost(weight) == largest_lost(weight, 8)
