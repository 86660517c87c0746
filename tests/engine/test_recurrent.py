"""LSTM, GRU and plain recurrent layers: by hand, and against cuDNN's kernels on an H200."""

import json
from pathlib import Path
from statistics import mean

import pytest

import ironlaw as il
from ironlaw.engine.lowering import Kernel, lower
from ironlaw.engine.lowering_cpu import lower as lower_cpu
from ironlaw.engine.recurrent import of_row, persistent
from ironlaw.engine.types import Graph

H200 = il.hardware("h200_sxm")


def layer(name="lstm", steps=3, batch=2, features=4, hidden=6, layers=1, both=0, dtype="fp16"):
    return of_row(name, dict(steps=steps, batch=batch, features=features, hidden=hidden, layers=layers, both=both, dtype=dtype))


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


def test_step_by_step():
    one = layer("gru", 50, 3, 256, 256)
    product, state, cell, fill = lower(one)
    assert (product.curve, product.count, product.flops) == ("gemm", 1, 2.0 * 150 * 768 * 256)
    assert (state.curve, state.count, state.flops, state.depth) == ("gemm", 50, 2.0 * 3 * 768 * 256, 256)
    assert state.data == 2 * (3 * (256 + 768) + 768 * 256)
    assert (cell.curve, cell.count, cell.data) == ("gru_cell", 50, 2 * 3 * (2 * 768 + 2 * 256))
    assert fill == Kernel("tiny", 0.0)
    assert [k.curve for k in lower(layer("gru", 50, 3, 256, 256, dtype="fp32"))][:2] == ["gemm_tf32", "gemm_tf32"]


def test_a_state_that_stays():
    (_, kept, _) = lower(layer("gru", 50, 3, 100, 128, 2, 1))[1:]
    assert kept == Kernel("rnn_small", 0.0, rows=50, depth=50 * 3 * 128 * 128, count=4)
    (kept,) = (k for k in lower(layer("lstm", 50, 8, 256, 256)) if k.curve == "lstm_persistent")
    assert (kept.flops, kept.depth, kept.count) == (50 * 2.0 * 8 * 1024 * 256, 50, 1)


@pytest.mark.parametrize(
    ("shape", "curve"),
    [
        (("lstm", 8, 32, 512, 512), "lstm_persistent"),
        (("lstm", 8, 33, 512, 512), ""),  # a batch in eights
        (("lstm", 8, 256, 512, 512), ""),  # of at most 128
        (("lstm", 8, 32, 500, 512), ""),
        (("lstm", 8, 32, 512, 2048), ""),
        (("lstm", 8, 32, 512, 512, 2), ""),
        (("lstm", 8, 32, 512, 512, 1, 1), ""),
        (("lstm", 8, 32, 512, 512, 1, 0, "fp32"), ""),
        (("gru", 8, 32, 512, 512), ""),
        (("rnn_tanh", 8, 32, 512, 512), "rnn_persistent"),
        (("rnn_tanh", 8, 96, 1024, 1024), ""),
        (("lstm", 8, 3, 100, 192), "rnn_small"),
        (("gru", 8, 3, 100, 193), ""),
        (("rnn_tanh", 8, 1, 100, 384, 2), "rnn_small"),
    ],
)
def test_which_kernel_stays(shape, curve):
    assert persistent(layer(*shape)) == curve


def test_on_a_processor():
    kernels = lower_cpu(layer("gru", 50, 1, 256, 256, dtype="fp32"))
    # all inputs at once; then, for each of 50 steps, one row times the weights and a loop over three gates and two states
    assert [(k.curve, k.count) for k in kernels] == [("gemm", 1), ("gemv", 50), ("sigmoid", 50)]
    assert kernels[0].flops == 2.0 * 50 * 768 * 256
    assert kernels[1].data == 4 * (256 + 768 + 768 * 256)
    assert kernels[2].data == 4 * (768 + 512)


def test_against_cudnn():
    rows = json.loads((Path(il.__file__).parent / "registry/evidence/h200_sxm/recurrent.json").read_text())["rows"]
    gaps = []
    for row in rows:
        if row["op"] in ("lstm", "gru", "rnn_tanh"):
            told = il.predict(Graph("r", (of_row(row["op"], row["params"]),), row["params"]["dtype"]), H200)
            gaps.append((told.busy_s / row["busy_s"] - 1, told.kernels / row["kernels"] - 1, row["op"], tuple(row["params"].values())))
    listed = "\n".join(map(str, sorted(gaps)))
    assert len(gaps) == 144, listed
    assert mean(abs(gap[0]) for gap in gaps) < 0.2, listed
    assert mean(abs(gap[1]) for gap in gaps) < 0.2, listed
