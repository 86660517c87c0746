"""What one of several devices has of a decoder's block: together they have the whole, and what can't be divided is on each of them."""

import pytest

from ironlaw.engine.decoders.parts import Experts, Gate, Norm, Product, Scores, State, Vector, active, kept_numbers, matrices, sharded
from ironlaw.errors import BadValue


@pytest.mark.parametrize(
    ("part", "each"),
    [
        (Product("up", 6, 8, True), Product("up", 6, 2, True)),
        (Product("down", 8, 6, split="in"), Product("down", 2, 6, split="in")),
        (Product("router", 8, 6, split=""), Product("router", 8, 6, split="")),
        (Norm(8), Norm(8)),
        (Norm(8, rows=16, split="out"), Norm(8, rows=4, split="out")),
        (Norm(8, rows=2, split="out"), Norm(8, rows=1, split="out")),
        (Norm(8, split="out"), Norm(2, split="out")),
        (Scores(8, 4, 16, 16), Scores(2, 1, 16, 16)),
        (Scores(8, 2, 16, 16), Scores(2, 1, 16, 16)),
        (State(9, 8, 12, 4), State(3, 2, 3, 1)),
        (Gate(8), Gate(2)),
        (Experts(6, 16, 2, 8), Experts(6, 16, 2, 2, router=6 * 16)),
        (Vector(7), Vector(7)),
    ],
    ids=str,
)
def test_one_of_four_devices_has(part, each):
    assert sharded((part,), 4, "model") == (each,)


def test_what_does_not_divide_is_refused_with_what_it_is():
    with pytest.raises(BadValue, match="model has 6 columns of up, which 4 devices can't share evenly; give a divisor"):
        sharded((Product("up", 8, 6),), 4, "model")
    with pytest.raises(BadValue, match="6 key-value heads can't be shared by 4 devices evenly"):
        sharded((Scores(12, 6, 16, 16),), 4, "model")


def test_weights_of_a_token_and_what_it_keeps():
    block = (
        Product("up", 6, 8, True),
        Experts(6, 16, 2, 8),
        State(9, 8, 12, 4),
        Scores(8, 4, 16, 10, window=5),
        Scores(8, 4, 16, 10, kept=False),
    )
    one = 3 * 6 * 8
    assert matrices(block) == 6 * 8 + 16 * one + 6 * 16 and active(block) == 6 * 8 + 2 * one + 6 * 16
    assert kept_numbers(block, 3) == 9 + 3 * 4 * 26 and kept_numbers(block, 100) == 9 + 5 * 4 * 26
