"""LSTM, GRU and plain recurrent layers: by hand, and against cuDNN's kernels on an H200."""

import json
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from on_machines import lower, lower_cpu, samples

import ironlaw as il
from ironlaw.backends.cuda.recurrent import persistent
from ironlaw.backends.evidence_ops import recurrent_layer
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import category
from ironlaw.engine.device.work import op as make_op

H200 = il.hardware("h200_sxm")


def layer(name="lstm", steps=3, batch=2, features=4, hidden=6, layers=1, both=0, dtype="fp16"):
    return recurrent_layer(name, dict(steps=steps, batch=batch, features=features, hidden=hidden, layers=layers, both=both, dtype=dtype))


def test_an_lstm_by_hand():
    work = layer().work
    # 3·2 tokens, 4·6 gates, each over 4 features and 6 of the state
    assert work.matmul_flops == 2 * 6 * 24 * (4 + 6)
    assert work.flops - work.matmul_flops == 22 * 6 * 6
    weights = 24 * 4 + 24 * 6 + 24 + 24
    gates = 6 * 24  # written once, read once
    assert work.read == 2 * (24 + weights + gates)
    assert work.written == 2 * (6 * 6 + gates)
    assert work.launches == 1 + 2 * 3


def test_a_gru_and_a_plain_one_have_fewer_gates():
    assert layer("gru").work.matmul_flops == 2 * 6 * 18 * 10
    assert layer("rnn_tanh").work.matmul_flops == 2 * 6 * 6 * 10
    assert layer("gru").work.flops - layer("gru").work.matmul_flops == 17 * 36
    assert layer("rnn_tanh").work.flops - layer("rnn_tanh").work.matmul_flops == 2 * 36


def test_layers_and_directions():
    two = layer(layers=2, both=1)
    # the second layer reads both directions of the first
    assert two.work.matmul_flops == 2 * 6 * 24 * 2 * ((4 + 6) + (12 + 6))
    assert two.work.launches == 4 * 7
    assert two.work.flops - two.work.matmul_flops == 22 * 36 * 4
    # 288 weights a direction in the first layer, 480 in the second; the gates of all, and 12 features handed on
    between = 4 * 6 * 24 + 6 * 12
    assert two.work.read == 2 * (24 + 2 * 288 + 2 * 480 + between)
    assert two.work.written == 2 * (6 * 12 + between)
    assert layer(dtype="fp32").work.bytes == 2 * layer().work.bytes


def test_its_tensors():
    two = layer(layers=2, both=1)
    assert (two.name, two.kind, category("recurrent")) == ("lstm", "recurrent", category("linear"))
    assert two.attrs == {"cell": "lstm", "hidden": 6, "layers": 2, "directions": 2}
    assert two.inputs[0] == Tensor("x", (3, 2, 4), "fp16", "input")
    assert two.outputs == (Tensor("y", (3, 2, 12), "fp16"),)
    shapes = {0: [(24, 4), (24, 6), (24,), (24,)], 1: [(24, 12), (24, 6), (24,), (24,)]}
    weights = [Tensor(f"w{i}.{way}.{j}", shape, "fp16", "weight") for i in shapes for way in (0, 1) for j, shape in enumerate(shapes[i])]
    assert two.inputs[1:] == tuple(weights)
    assert layer("rnn_tanh").attrs["cell"] == "rnn" and layer("rnn_tanh").attrs["directions"] == 1


def test_step_by_step():
    one = layer("gru", 50, 3, 256, 256)
    product, state, cell, fill = lower(one)
    assert (product.curve, product.count, product.flops) == ("gemm", 1, 2.0 * 150 * 768 * 256)
    assert (state.curve, state.count, state.flops, state.depth) == ("gemm", 50, 2.0 * 3 * 768 * 256, 256)
    assert state.data == 2 * (3 * (256 + 768) + 768 * 256)
    assert (cell.curve, cell.count, cell.data) == ("gru_cell", 50, 2 * 3 * (2 * 768 + 2 * 256))
    assert fill == Kernel("tiny", 0.0)
    assert product == Kernel("gemm", 2 * (150 * (256 + 768) + 768 * 256.0), 2.0 * 150 * 768 * 256, depth=256, count=1)
    assert cell.flops == 3 * 256 * 17
    assert (state.rows, cell.rows, cell.depth) == (0.0, 0.0, 0.0)
    # two layers in both directions: 4 runs of 5 steps; the first is odd in its features, the state even in its gates
    *products, state, cell, fill = lower(layer("lstm", 5, 3, 201, 250, 2, 1))
    assert [(k.curve, k.depth, k.count) for k in products] == [("gemm_odd", 201, 2), ("gemm_even", 500, 2)]
    assert (state.curve, state.count, cell.curve, cell.count) == ("gemm_even", 20, "lstm_cell", 20)
    assert fill == Kernel("tiny", 0.0, count=2.0)
    for fmt in ("fp32", "tf32"):
        assert [k.curve for k in lower(layer("gru", 50, 3, 256, 256, dtype=fmt))][:2] == [f"gemm_{fmt}"] * 2


def test_a_state_that_stays():
    (_, kept, _) = lower(layer("gru", 50, 3, 100, 128, 2, 1))[1:]
    assert kept == Kernel("rnn_small", 0.0, rows=50, depth=50 * 3 * 128 * 128, count=4)
    (kept,) = (k for k in lower(layer("lstm", 50, 8, 256, 256)) if k.curve == "lstm_persistent")
    assert (kept.flops, kept.depth, kept.count) == (50 * 2.0 * 8 * 1024 * 256, 50, 1)
    assert (kept.data, kept.rows) == (2 * (50 * 8 * (1024 + 2 * 256) + 1024 * 256), 0.0)


# PyTorch's heuristics for one kernel that runs all steps (aten/src/ATen/native/cudnn/RNN.cpp), a set for each size
BATCHES, WIDTHS, HIDDEN = range(8, 129, 8), range(128, 2049, 128), range(512, 1025, 128)
OUTSIDE = {
    "batch": st.integers(1, 300).filter(lambda n: n not in BATCHES),
    "features": st.integers(1, 2048).filter(lambda n: n not in WIDTHS),
    "hidden": st.integers(385, 2048).filter(lambda n: n not in HIDDEN),  # wider than any state that stays in a block
    "layers": st.integers(2, 4),
    "both": st.just(1),
    "dtype": st.sampled_from(("bf16", "fp32", "tf32")),
    "name": st.just("gru"),
}
inside = st.fixed_dictionaries({
    "name": st.sampled_from(("lstm", "rnn_tanh")), "steps": st.integers(1, 60), "batch": st.sampled_from(BATCHES),
    "features": st.sampled_from(WIDTHS), "hidden": st.sampled_from(HIDDEN),
})  # fmt: skip


@given(inside)
def test_a_single_fp16_layer_in_whole_blocks_stays(shape):
    """But a plain one, where both batch and state are large."""
    cell = shape["name"].removesuffix("_tanh")
    stays = cell == "lstm" or shape["batch"] < 96 or shape["hidden"] < 896
    assert persistent(layer(**shape), H200) == (f"{cell}_persistent" if stays else "")


@pytest.mark.parametrize("name", OUTSIDE)
@given(shape=inside, data=st.data())
def test_one_size_outside_and_it_goes_step_by_step(name, shape, data):
    assert persistent(layer(**shape | {name: data.draw(OUTSIDE[name], label=name)}), H200) == ""


@given(inside, st.integers(1, 384), st.integers(1, 3), st.integers(0, 1), st.sampled_from(("fp16", "bf16", "fp32")))
def test_a_narrow_state_stays_in_a_block_whatever_else(shape, hidden, layers, both, dtype):
    one = layer(**shape | {"hidden": hidden, "layers": layers, "both": both, "dtype": dtype})
    narrow = hidden <= (192 if shape["name"] == "lstm" else 384) and dtype != "bf16"  # cuDNN has no such kernel in BF16
    assert (persistent(one, H200) == "rnn_small") == narrow
    if not narrow:  # an LSTM between the two: in whole blocks it may still stay by the rule above
        assert (persistent(one, H200) == "lstm_persistent") == (hidden % 128 == 0 and (layers, both, dtype) == (1, 0, "fp16"))


@pytest.mark.parametrize("slug", ["h200_sxm", "a100_80gb_sxm", "t4"])
@pytest.mark.parametrize(("name", "widest"), [("lstm", 192), ("gru", 192), ("rnn_tanh", 384)])
def test_a_state_stays_where_its_weights_fit_beside_a_multiprocessor(slug, name, widest):
    """The weights of a state go with the square of its width: what 256 KiB hold at `widest`, an A100's 192 KiB hold at 87% of it."""
    machine = il.hardware(slug)
    (room,) = (level.size / machine.units["sms"] for level in machine.levels if level.name == "shared")
    fits = [hidden for hidden in range(1, 2 * widest) if persistent(layer(name, 8, 3, 100, hidden), machine) == "rnn_small"]
    assert fits == list(range(1, len(fits) + 1))
    assert (len(fits) / widest) ** 2 == pytest.approx(room / (256 * 1024), rel=0.01)


def test_on_a_processor():
    kernels = lower_cpu(layer("gru", 50, 1, 256, 256, dtype="fp32"))
    # all inputs at once; then, for each of 50 steps, one row times the weights and a loop over three gates and two states
    assert [(k.curve, k.count) for k in kernels] == [("gemm", 1), ("gemv", 50), ("sigmoid", 50)]
    assert kernels[0].flops == 2.0 * 50 * 768 * 256
    assert kernels[1].data == 4 * (256 + 768 + 768 * 256)
    assert kernels[2].data == 4 * (768 + 512)
    # two layers in both directions: each layer's inputs for each direction, then 4 runs of 50 steps, 16 rows at a time
    kernels = lower_cpu(layer("lstm", 50, 16, 100, 256, 2, 1, "fp32"))
    assert [(k.curve, k.count, k.depth) for k in kernels] == [("gemm", 2, 100), ("gemm", 2, 512), ("gemm", 200, 256), ("sigmoid", 200, 0.0)]
    assert [k.flops for k in kernels] == [2.0 * 800 * 1024 * 100, 2.0 * 800 * 1024 * 512, 2.0 * 16 * 1024 * 256, 0.0]
    assert kernels[3].data == 4 * 16 * (1024 + 512)


def test_kernels_are_told_apart_by_their_names():
    def row(name, *kernels, kind="op", **shape):
        p = {"steps": 50, "batch": 8, "features": 256, "hidden": 256, "layers": 1, "both": 0, "dtype": "fp16", **shape}
        return {"kind": kind, "op": name, "params": p, "busy_s": 9.0, "list": [{"name": n, "seconds": s, "count": 1} for n, s in kernels]}

    def found(*rows):
        return [(s.kernel.curve, s.kernel.count, s.seconds) for s in samples(list(rows))]

    cells = (("void elemWiseRNNcell<half>", 4.0), ("elemWiseRNNcell_other", 1.0), ("gemm", 3.0))
    assert found(row("gru", *cells)) == [("gru_cell", 1.0, 0.1)]  # 5 s in 50 steps
    assert found(row("gru", *cells, kind="launch"), row("gru", *cells) | {"error": "no"}, row("gru", ("gemm", 3.0))) == []
    assert found(row("lstm", ("RNN_persist_fp16", 4.0), ("lstm_tile_x", 2.0))) == [("lstm_persistent", 1.0, 6.0)]
    small = row("rnn_tanh", ("blockPersist_fp_4", 8.0), hidden=128, layers=2, both=1)
    assert found(small) == [("rnn_small", 1.0, 2.0)]  # 4 of them
    (sample,) = samples([small])
    assert isinstance(sample, Sample) and sample.kernel == Kernel("rnn_small", 0.0, rows=50, depth=50 * 128 * 128)
    bare = row("gru", *cells)
    del bare["list"]
    assert found(bare) == []


def test_against_cudnn():
    rows = json.loads((Path(il.__file__).parent / "registry/evidence/h200_sxm/recurrent.json").read_text())["rows"]
    gaps = []
    for row in rows:
        if row["op"] in ("lstm", "gru", "rnn_tanh"):
            told = il.predict(Graph("r", (recurrent_layer(row["op"], row["params"]),), row["params"]["dtype"]), H200)
            gaps.append((told.busy_s / row["busy_s"] - 1, told.kernels / row["kernels"] - 1, row["op"], tuple(row["params"].values())))
    listed = "\n".join(map(str, sorted(gaps)))
    assert len(gaps) == 144, listed
    assert mean(abs(gap[0]) for gap in gaps) < 0.2, listed
    assert mean(abs(gap[1]) for gap in gaps) < 0.2, listed


def backward(steps, batch, features, hidden, both=0, dtype="fp32"):
    """The gradients of an LSTM as capture has them: what comes in, gradient, result, what was kept; out come those of all that went in."""
    x, *weights = layer(steps=steps, batch=batch, features=features, hidden=hidden, both=both, dtype=dtype).inputs
    out, kept = (Tensor(name, (steps, batch, wide * (1 + both)), dtype) for name, wide in (("y", hidden), ("kept", 6 * hidden)))
    attrs = {"cell": "lstm", "hidden": hidden, "layers": 1, "directions": 1 + both, "backward": True}
    return make_op("recurrent", "back", [x, out, out, kept, *weights], [x, *weights], **attrs)


# (steps, batch, features, hidden, both ways) -> seconds and kernels of `_cudnn_rnn_backward` in three opened models' steps on an H200
BACK = {
    (500, 32, 256, 256, 0): (6.346e-3, 1507),
    (321, 8, 600, 256, 1): (7.473e-3, 1945),
    (321, 8, 512, 256, 1): (7.450e-3, 1943),
    (13, 12288, 128, 128, 0): (4.829e-3, 11),
    (73, 2048, 48, 128, 0): (4.060e-3, 11),
}


@pytest.mark.parametrize("sizes", BACK)
def test_gradients_as_cudnn_runs_them(sizes):
    seconds, kernels = BACK[sizes]
    found = il.predict(Graph("back", (backward(*sizes),), "fp32"), H200)
    assert found.busy_s == pytest.approx(seconds, rel=0.15) and found.kernels == pytest.approx(kernels, abs=5)


def test_a_gradient_that_nobody_wants_costs_nothing():
    whole = backward(10, 4, 64, 32)
    first = make_op("recurrent", "back", whole.inputs, whole.outputs[1:], **whole.attrs)
    assert whole.work.matmul_flops - first.work.matmul_flops == 2 * 40 * 128 * 64
    assert whole.work.matmul_flops == 2 * layer(steps=10, batch=4, features=64, hidden=32).work.matmul_flops
    assert sum(k.flops * k.count for k in lower(whole)) > sum(k.flops * k.count for k in lower(first))
    assert sum(float(k.flops * k.count) for k in lower_cpu(whole)) == pytest.approx(float(whole.work.matmul_flops))
