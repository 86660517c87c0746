"""One way to train and the levers that change it: a setting is the argument of the ledger that it names, a lever changes one setting."""

from dataclasses import replace

import pytest

from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.rewrites import three_kernels
from ironlaw.engine.training.setup import LABELS, Setup, fewer_trained, growth, ledger, levers, update_bytes
from ironlaw.engine.training.training_ledger import ONE_LOSS, ROWS, training_ledger
from ironlaw.errors import UnknownName


def model(batch, dtype):
    """A layer with attention over four words, and logits."""
    x = Tensor("x", (batch, 2, 4, 8), dtype, "input")
    ops = [op("linear", f"h.0.{n}", (x, Tensor(f"{n}.w", (8, 8), dtype, "weight")), (Tensor(f"h.0.{n}", x.shape, dtype),)) for n in "qkv"]
    ops.append(op("attention", "h.0.sdpa", tuple(one.outputs[0] for one in ops), (Tensor("h.0.sdpa", x.shape, dtype),)))
    ops.append(op("linear", "h.1.up", (ops[-1].outputs[0], Tensor("up.w", (8, 8), dtype, "weight")), (Tensor("h.1.up", x.shape, dtype),)))
    top = op("linear", "top", (ops[-1].outputs[0], Tensor("top.w", (9, 8), dtype, "weight")), (Tensor("top", (batch, 2, 4, 9), dtype),))
    return Graph("model", (*ops, top), dtype, {"batch": batch})


@pytest.mark.parametrize(
    "setting",
    [
        {"optimiser": "sgd"}, {"accumulate": 3}, {"checkpoint": 2}, {"loss_chunks": 4}, {"zero_stage": 2, "devices": 4}, {"offload": True},
    ],
)  # fmt: skip
def test_a_setting_is_the_argument_of_the_same_name(setting):
    mine = ledger(model, Setup(batch=3, **setting)).profile
    assert mine == training_ledger(model(3, "fp32"), **setting).profile != training_ledger(model(3, "fp32")).profile


def test_a_recipe_builds_the_model_in_its_format():
    assert ledger(model, Setup(recipe="mixed", batch=2)).profile == training_ledger(model(2, "bf16"), "mixed").profile


def test_attention_in_three_kernels_keeps_the_shares():
    """2 samples × 2 heads × 4 × 4 shares of 4 bytes, in place of a sum for each padded row (32 of 4 bytes)."""
    graph = model(2, "fp32")
    apart = ledger(lambda batch, dtype: graph, Setup(batch=2, attention="three_kernels"))
    assert apart.kept - ledger(model, Setup(batch=2)).kept == 2 * 2 * 4 * 4 * 4 - 2 * 2 * 32 * 4
    assert apart == ledger(lambda batch, dtype: graph, Setup(batch=2, attention="three_kernels"))  # the graph is taken apart once
    assert apart.profile == training_ledger(three_kernels(graph)).profile
    with pytest.raises(UnknownName, match=r"^no attention 'four'.*three_kernels"):
        ledger(model, Setup(attention="four"))


def test_growth_is_the_same_setup_at_any_batch():
    setup = Setup(batch=9, optimiser="sgd", checkpoint=1)
    assert growth(model, setup).at(6).peak == pytest.approx(ledger(model, replace(setup, batch=6)).peak)
    assert growth(model, setup).one.profile == ledger(model, replace(setup, batch=1)).profile


@pytest.mark.parametrize(
    ("setup", "each", "scratch"),
    [
        (Setup(batch=3), 16, 4), (Setup(optimiser="sgd"), 8, 0), (Setup(offload=True), 8, 0), (Setup(zero_stage=3, devices=4), 4, 1),
        (Setup(zero_stage=1, devices=2), 12, 2), (Setup(recipe="pure", batch=2), 8, 2),
    ],
)  # fmt: skip
def test_bytes_of_the_update_a_parameter(setup, each, scratch):
    """328 parameters: what each takes while the optimiser steps, its square roots, and the batch of 64 numbers a sample beside it."""
    batch = setup.batch * 64 * (2 if setup.recipe == "pure" else 4)
    assert update_bytes(model, setup) == 328 * (each + scratch) + batch + ONE_LOSS == ledger(model, setup).profile[-1].total


def test_growth_where_gradients_are_always_there():
    setup = Setup(accumulate=2, checkpoint=2)
    assert growth(model, setup).peak(5) == pytest.approx(ledger(model, replace(setup, batch=5)).peak)


def changes(setup, graph=None):
    return dict(levers(graph or model(1, "fp32"), setup))


def test_every_lever_changes_its_own_settings():
    start = Setup(batch=4, accumulate=3, attention="three_kernels")
    assert changes(start) == {
        "checkpoint": replace(start, checkpoint=2),
        "loss_chunks": replace(start, loss_chunks=8),
        "fused_attention": replace(start, attention="fused"),
        "half_batch": replace(start, batch=2, accumulate=6),
        "adam8bit": replace(start, optimiser="adam8bit"),
        "mixed": replace(start, recipe="mixed"),
    }
    graph = model(1, "fp32")
    fewer = dict(fewer_trained(graph, start))
    usual = replace(start, lora=16, quantised=True, optimiser="paged_adam8bit", checkpoint=2)
    assert fewer == {"lora": replace(start, lora=16), "qlora": usual}
    assert [one.recipe for name, one in fewer_trained(graph, start) if name == "qlora"] == ["pure", start.recipe]
    assert set(changes(start)) | set(fewer) == set(LABELS) and len(set(LABELS.values())) == 8
    assert not dict(fewer_trained(graph, replace(start, lora=4, quantised=True)))


def test_half_of_an_odd_batch_still_makes_an_update_of_as_many():
    assert changes(Setup(batch=3))["half_batch"] == Setup(batch=1, accumulate=3)
    assert changes(Setup(batch=2))["half_batch"] == Setup(batch=1, accumulate=2)


@pytest.mark.parametrize(
    ("setup", "without"),
    [
        (Setup(checkpoint=2), "checkpoint"), (Setup(loss_chunks=8), "loss_chunks"), (Setup(batch=1), "half_batch"),
        (Setup(), "fused_attention"), (Setup(optimiser="sgd"), "adam8bit"), (Setup(recipe="pure"), "adam8bit"),
        (Setup(recipe="pure"), "mixed"),
    ],
)  # fmt: skip
def test_a_lever_that_is_pulled_or_frees_nothing_is_not_offered(setup, without):
    assert without not in changes(setup)
    assert "checkpoint" in changes(Setup(checkpoint=1)) and "adam8bit" in changes(Setup(optimiser="momentum"))


def test_a_model_without_layers_logits_or_attention_has_no_levers_for_them():
    x = Tensor("x", (2, 4), "fp32", "input")
    bare = Graph("bare", (op("mul", "y", (x, Tensor("w", (4,), "fp32", "weight")), (Tensor("y", (2, 4), "fp32"),)),), "fp32")
    assert set(changes(Setup(attention="three_kernels"), bare)) == {"adam8bit", "mixed"}


def test_what_the_batch_needs_is_kept_only_where_a_gradient_needs_it():
    """Under autocast a product reads a copy of its input, and the input itself only passes through."""
    plain, narrow = (training_ledger(model(2, "fp32"), recipe).profile[0].bytes for recipe in ("fp32", "autocast"))
    x, labels = 2 * 2 * 4 * 8 * 4, 2 * 2 * 4 * 8
    row = ROWS.index("kept")
    assert plain[row] == x + labels + x  # and q
    assert narrow[row] == labels + x / 2  # the copy that is being made
