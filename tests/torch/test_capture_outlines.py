"""A product in outline has the size of the true one, and keeps alike what is alike: checked against random matrices."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from ironlaw.tracing.outlines import OUTLINES, Weight  # noqa: E402
from ironlaw.tracing.stand_ins import attention as true_attention  # noqa: E402

SPREAD = 0.03


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def size(x: torch.Tensor) -> float:
    return float(x.float().square().mean().sqrt())


def likeness(x: torch.Tensor) -> torch.Tensor:
    rows = torch.nn.functional.normalize(x.float().flatten(0, -2), dim=-1)
    return rows @ rows.T


@pytest.mark.parametrize("columns", [256, 1024, 4096])
def test_a_projection_keeps_sizes_and_likeness(columns: int) -> None:
    x = torch.randn(12, 1024) + 2 * torch.randn(1, 1024)  # rows that share a part
    weight, bias = torch.randn(1024, columns) * SPREAD, torch.randn(columns)
    outline = OUTLINES["aten::mm"].make(torch.empty(12, columns), Weight(SPREAD, 7), x, None)
    assert size(outline) == pytest.approx(size(x @ weight), rel=0.12)
    assert (likeness(outline) - likeness(x @ weight)).abs().max() < 0.2
    with_bias = OUTLINES["aten::addmm"].make(torch.empty(12, columns), Weight(SPREAD, 7), bias, x, None)
    torch.testing.assert_close(with_bias, outline + bias)
    again = OUTLINES["aten::mm"].make(torch.empty(12, columns), Weight(SPREAD, 7), x, None)
    assert torch.equal(outline, again), "a weight is the same whenever it is used"


def test_groups_meet_matrices_of_their_own() -> None:
    x = torch.randn(1, 512).expand(6, 512)
    made = OUTLINES["aten::_grouped_mm"].make(torch.empty(6, 128), Weight(SPREAD, 1), x, None, torch.tensor([2, 2, 6]))
    assert torch.equal(made[0], made[1]) and torch.equal(made[2], made[5])
    assert likeness(made)[0, 2] < 0.4 and size(made) == pytest.approx(SPREAD * math.sqrt(512) * size(x), rel=0.3)


def test_equal_ids_have_equal_rows() -> None:
    made = OUTLINES["aten::embedding"].make(torch.empty(4, 256), Weight(0.02, 3), None, torch.tensor([5, 151_000, 5, 6]))
    alike = likeness(made)
    assert alike[0, 2] == pytest.approx(1.0) and alike[0, 1].abs() < 0.3 and alike[0, 3].abs() < 0.3
    assert size(made) == pytest.approx(0.02, rel=0.1)


def test_a_convolution_has_its_bias_and_its_spread() -> None:
    x, w, bias = torch.randn(2, 16, 12, 12), torch.randn(8, 16, 3, 3) * SPREAD, torch.full((8,), -4.6)
    true = torch.nn.functional.conv2d(x, w, bias)
    made = OUTLINES["aten::convolution"].make(true, Weight(SPREAD, 0), None, w, bias)
    assert float(made.mean()) == pytest.approx(float(true.mean()), abs=0.05)
    assert float(made.std()) == pytest.approx(float(true.std()), rel=0.1)


@pytest.mark.parametrize(("causal", "groups"), [(True, 1), (True, 4), (False, 1)])
def test_attention_of_faint_scores_is_a_mean(causal: bool, groups: int) -> None:
    q, k, v = torch.randn(2, 4, 32, 16) * 0.02, torch.randn(2, 4 // groups, 32, 16) * 0.02, torch.randn(2, 4 // groups, 32, 16)
    true = true_attention(q, k, v, None, causal, False, groups > 1)
    made = OUTLINES["ironlaw::attention"].make(true, None, q, k, v, None, causal, False, groups > 1)
    assert (made - true).abs().max() < 0.01
