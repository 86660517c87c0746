"""Bytes a parameter: recipes, optimisers, ZeRO, against published figures and hand counts."""

import pytest

from ironlaw.engine.device.types import Tensor
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES, Static, parameters, static, zero
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.workloads import workload

P = (Tensor("w", (300, 200), "fp32", "weight"), Tensor("b", (300,), "fp32", "weight"))
COUNT = 300 * 200 + 300


@pytest.mark.parametrize(
    ("recipe", "optimiser", "bytes_each"),
    [
        ("fp32", "sgd", 8),
        ("fp32", "momentum", 12),
        ("fp32", "adamw", 16),
        ("autocast", "adamw", 16),
        ("mixed", "adamw", 2 + 2 + 12),
        ("mixed", "momentum", 2 + 2 + 8),
        ("mixed_fp32_grads", "adamw", 2 + 4 + 12),
        ("pure", "adamw", 8),
        ("pure", "sgd", 4),
    ],
)
def test_bytes_a_parameter(recipe, optimiser, bytes_each):
    assert static(P, recipe, optimiser).total == bytes_each * COUNT


def test_rows_of_2_2_12():
    rows = static(P, "mixed", "adamw")
    assert (rows.weights, rows.gradients, rows.master, rows.optimiser) == tuple(k * COUNT for k in (2, 2, 4, 8))


@pytest.mark.parametrize("slug", ["gpt2", "resnet50", "llama3_2_1b"])
def test_adamw_keeps_eight_bytes_of_any_model(slug):
    graph = workload(slug, dtype="fp32")
    assert static(parameters(graph), "fp32", "adamw").optimiser == 8 * graph.params


def test_adafactor_keeps_rows_and_columns():
    assert static(P, "fp32", "adafactor").optimiser == 4 * (300 + 200) + 4 * 300
    stack = (Tensor("experts", (5, 30, 20), "fp32", "weight"),)
    assert static(stack, "fp32", "adafactor").optimiser == 4 * 5 * (30 + 20)


def test_eight_bit_adam():
    """A byte a moment and four bytes for 256 of them: 2.03 a parameter; vectors under 4,096 stay in FP32."""
    assert static(P, "mixed", "adam8bit").optimiser == 2 * (60_000 + 4 * 235) + 8 * 300  # 234.4 blocks are 235
    assert static((Tensor("w", (4096,), "bf16", "weight"),), "mixed", "adam8bit").optimiser == 2.03125 * 4096


def test_zero_as_published():
    """Rajbhandari et al. 2020, figure 1: 7.5 B parameters on 64 devices take 120, 31.4, 16.6 and 1.9 GB."""
    n = 7.5e9
    whole = Static(2 * n, 2 * n, 4 * n, 8 * n)
    sizes = [zero(whole, stage, 64).total / 1e9 for stage in range(4)]
    assert sizes == pytest.approx([120, 31.40625, 16.640625, 1.875])
    assert [round(size, 1) for size in sizes] == [120.0, 31.4, 16.6, 1.9]


def test_what_each_stage_splits():
    whole = Static(1.0, 2.0, 4.0, 8.0)
    assert zero(whole, 1, 4) == Static(1.0, 2.0, 1.0, 2.0)
    assert zero(whole, 2, 4) == Static(1.0, 0.5, 1.0, 2.0)
    assert zero(whole, 3, 4) == Static(0.25, 0.5, 1.0, 2.0)
    assert zero(whole, 3, 1) == whole


@pytest.mark.parametrize(("stage", "devices", "says"), [(4, 8, "give 0, 1, 2 or 3"), (-1, 8, "give 0, 1, 2 or 3"), (1, 0, "at least 1")])
def test_zero_refuses(stage, devices, says):
    with pytest.raises(BadValue, match=says):
        zero(Static(1.0, 1.0, 1.0, 1.0), stage, devices)


def test_unknown_names_list_the_known():
    with pytest.raises(UnknownName, match=r"^no training recipe 'fp23'; did you mean fp32"):
        static(P, "fp23", "adamw")
    with pytest.raises(UnknownName, match=r"^no optimiser 'adam'; did you mean adamw"):
        static(P, "fp32", "adam")


def test_formats_of_the_recipes():
    assert {name: recipe.dtype for name, recipe in RECIPES.items()} == {
        "fp32": "fp32", "autocast": "fp32", "mixed": "bf16", "mixed_fp32_grads": "bf16", "pure": "bf16",
    }  # fmt: skip
    assert all(optimiser.label for optimiser in OPTIMISERS.values())
