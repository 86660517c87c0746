"""The largest update that BF16 swallows, against PyTorch's own rounding."""

import pytest

from ironlaw.engine.numerics.lost_updates import largest_lost

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("weight", [0.02, 0.1, 1.5])
def test_bf16_swallows_small_steps(weight):
    lost, start = largest_lost(weight), torch.tensor(weight, dtype=torch.bfloat16)
    assert start + torch.tensor(0.9 * lost, dtype=torch.bfloat16) == start
    assert start + torch.tensor(1.2 * lost, dtype=torch.bfloat16) != start
