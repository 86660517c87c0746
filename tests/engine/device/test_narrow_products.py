"""Products in FP8 beside a graph in 16 bits: what is read, what is multiplied in what, and what the H200 measured of such products."""

import json
from pathlib import Path

import pytest

import ironlaw as il
from ironlaw import registry
from ironlaw.engine.device.narrow_products import narrow_products
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue, UnsupportedPrecision
from ironlaw.registry.decoders import decoder
from ironlaw.registry.families.served import step
from ironlaw.systems.serving.deployments import deployment

SMALL, GRAPHS = decoder("llama3_2_1b"), il.Plan(mode="eager_graphs")


def test_the_layers_products_are_narrow_and_nothing_else():
    wide, narrow = (step(SMALL, batch=8, context=64, layers=2, weights="fp8", products=fmt) for fmt in ("", "fp8"))
    assert narrow.flops == wide.flops and narrow.weight_bytes == wide.weight_bytes and narrow.cache_bytes == wide.cache_bytes
    linear = [one for one in narrow.ops if one.kind == "linear"]
    assert [one.dtype for one in linear] == ["fp8"] * 8 + ["bf16"] and linear[-1].name == "lm_head"
    casts = [one for one in narrow.ops if one.kind == "cast"]
    assert len(casts) == 8 and len(narrow.ops) == len(wide.ops) + 8
    assert all(one.outputs[0].dtype == "bf16" for one in linear)
    assert narrow_products(wide, "") is wide


def test_fp8_products_on_an_h200():
    """15 products as layers have them, from 32 rows to 8,192: the curve is fitted to them and to square ones."""
    file = Path(registry.__file__).parent / "evidence" / "h200_sxm" / "product_forms.json"
    rows = [row for row in json.loads(file.read_text("utf-8"))["rows"] if row["mode"] == "fp8"]
    errors = []
    for row in rows:
        m, n, k = (row["params"][name] for name in "mnk")
        one = op(
            "linear", "p", (Tensor("x", (m, k), "fp8"), Tensor("w", (n, k), "fp8", "weight")), (Tensor("y", (m, n), "bf16"),), dtype="fp8"
        )
        predicted = il.predict(il.Graph("product", (one,), "bf16"), il.hardware("h200_sxm"), GRAPHS).busy_s
        errors.append(predicted / row["busy_s"] - 1)  # with the kernel that fills in a scale
    assert len(errors) == 15 and max(map(abs, errors)) < 0.1 and sum(map(abs, errors)) / 15 < 0.035


def test_prompts_gain_and_a_small_batch_does_not():
    """A batch of 8 reads weights either way; a prompt of 2,048 tokens multiplies, and the H200 does that at up to twice the rate."""
    machine, model = il.hardware("h200_sxm"), decoder("llama3_8b")

    def ratio(**sizes):
        wide, narrow = (il.predict(step(model, **sizes, weights="fp8", products=fmt), machine, GRAPHS).seconds for fmt in ("", "fp8"))
        return wide / narrow

    assert ratio(batch=8, context=2048) == pytest.approx(1.0, abs=0.05) and 1.5 < ratio(chunk=2048) < 2.0


def test_where_there_is_no_fp8():
    with pytest.raises(UnsupportedPrecision, match="fp8"):
        deployment(SMALL, il.hardware("a100_80gb_sxm"), products="fp8")
    with pytest.raises(BadValue, match="leave `weights` out"):
        deployment(SMALL, il.hardware("h200_sxm"), products="fp8", weights="int4")


def test_scales_of_blocks_are_applied_outside_the_matrix_units():
    """Five products of the shapes that DeepGEMM was timed at on Hopper (sgl-project/sglang#5820), which nothing was fitted to."""
    machine = il.hardware("h100_sxm")

    def seconds(m, slug=machine, scaled=128):
        one = narrow_products(il.engine.device.types.Graph("p", (product(m),)), "fp8", scaled)
        return next(row for row in il.predict(one, slug, GRAPHS).ops if row.op.kind == "linear")

    def product(m):
        tensors = Tensor("x", (m, 7168), "bf16"), Tensor("w", (24576, 7168), "bf16", "weight")
        return op("linear", "p", tensors, (Tensor("y", (m, 24576), "bf16"),), dtype="bf16")

    for m, timed in ((256, 87.3e-6), (512, 138.1e-6), (1024, 277.9e-6), (2048, 556.5e-6), (4096, 1127.4e-6)):
        assert float(seconds(m).seconds) == pytest.approx(timed, rel=0.08)
        assert float(seconds(m, scaled=0).seconds) < timed
    more = float(seconds(4096).cost.compute) - float(seconds(4096, scaled=0).cost.compute)
    assert more == pytest.approx(2 * 4096 * 24576 * 7168 / 128 / float(machine.vector_peak("fp32")))
    new = il.hardware("b200")  # whose matrix units know scales
    assert float(seconds(4096, new).seconds) == float(seconds(4096, new, 0).seconds)
