"""The ledger of a training step: hand counts, laws that any step obeys, and what each lever does."""

from dataclasses import replace
from itertools import pairwise

import pytest

from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.checkpointing import best_checkpoints, checkpoint_bytes, continuous_checkpoints, recompute
from ironlaw.engine.training.growth import Growth
from ironlaw.engine.training.recipes import parameters
from ironlaw.engine.training.training_ledger import ROWS, RUNS, training_ledger
from ironlaw.errors import BadValue
from ironlaw.registry.workloads import workload


def mlp(batch, widths=(784, 128, 64, 10)):
    """Linear layers with ReLU between them, and logits at the end."""
    x = Tensor("x", (batch, widths[0]), "fp32", "input")
    ops = []
    for i, width in enumerate(widths[1:]):
        w, b = Tensor(f"l.{i}.weight", (width, x.shape[-1]), "fp32", "weight"), Tensor(f"l.{i}.bias", (width,), "fp32", "weight")
        ops.append(op("linear", f"l.{i}", (x, w, b), (Tensor(f"l.{i}", (batch, width), "fp32"),)))
        x = ops[-1].outputs[0]
        if i < len(widths) - 2:
            ops.append(op("relu", f"l.{i}.relu", (x,), (Tensor(f"l.{i}.relu", (batch, width), "fp32"),)))
            x = ops[-1].outputs[0]
    return Graph("mlp", tuple(ops), "fp32", {"batch": batch})


@pytest.mark.parametrize(("batch", "total"), [(32, 1_876_384), (64, 2_002_592)])
def test_the_net_784_128_64_10(batch, total):
    """16 bytes a parameter, and 784 + 128 + 64 + 10 numbers an image: what a course's plan counts by hand."""
    graph = mlp(batch)
    ledger = training_ledger(graph)
    labels = 8 * batch + 4  # and the weight that the loss divides by
    assert graph.params == 109_386
    assert ledger.static.total + ledger.kept - labels == total


def test_by_hand_moment_by_moment():
    """One linear layer and its loss: 3 rows of 4 in, 5 out."""
    ledger = training_ledger(mlp(3, (4, 5)), "fp32", "sgd")
    inputs, labels, one, logits = 3 * 4 * 4, 3 * 8, 4, 3 * 5 * 4
    weights = (4 * 5 + 5) * 4
    by_op = {(m.phase, m.op): m for m in ledger.profile}
    assert ledger.static.total == 2 * weights
    assert by_op["forward", "l.0"].total == weights + inputs + labels + logits
    assert by_op["forward", "loss.log_softmax"].total == weights + inputs + labels + 2 * logits
    assert by_op["between", ""].total == weights + inputs + labels + logits + 2 * one  # the loss, and the weight that it divides by
    assert by_op["backward", "loss.log_softmax"].total == weights + inputs + labels + 3 * logits + 2 * one  # and the loss's gradient
    assert by_op["backward", "l.0"].total == 2 * weights + inputs + labels + logits + 2 * one
    assert by_op["update", "optimiser"].total == 2 * weights + inputs + one
    assert ledger.peak == weights + inputs + labels + 3 * logits + 2 * one
    assert ledger.peak_at.op == "loss.log_softmax"


def test_gpt2_by_its_published_size():
    graph = workload("gpt2", batch=8, seq=1024, dtype="fp32")
    ledger = training_ledger(graph)
    assert graph.params == 124_439_808
    assert ledger.static.total == 16 * 124_439_808
    assert ledger.peak_at.op == "loss.log_softmax"
    assert ledger.peak_at.phase == "backward"
    logits = 8 * 1024 * 50257 * 4
    assert ledger.at_peak("head") == pytest.approx(3 * logits, abs=1e5)  # kept, and two gradients
    assert ledger.peak == pytest.approx(12 * 124_439_808 + ledger.kept + 2 * logits, rel=1e-4)


def fused_gelu(graph):
    """GPT-2 with the eight ops of its GELU as one."""
    ops = []
    for one in graph.ops:
        if one.name.endswith(".act.half"):
            x, name = one.inputs[0], one.name.removesuffix(".half")
            ops.append(op("gelu_tanh", f"{name}.mul", (x,), (replace(x, name=f"{name}.mul", role="activation"),)))
        elif ".act." not in one.name:
            ops.append(one)
    return replace(graph, ops=tuple(ops))


def test_gpt2_with_a_fused_gelu_keeps_6_5_gb():
    ledger = training_ledger(fused_gelu(workload("gpt2", batch=8, seq=1024, dtype="fp32")))
    assert ledger.kept == pytest.approx(6.535e9, rel=1e-3)
    assert ledger.peak / (4 * 124_439_808) == pytest.approx(22.75, rel=2e-3)  # with both gradients of the loss


CASES = [("gpt2", {"seq": 64}, "fp32"), ("resnet18", {}, "autocast"), ("bert_base", {"seq": 32}, "mixed"), ("vit_b16", {}, "pure")]


@pytest.mark.parametrize(("slug", "settings", "recipe"), CASES)
def test_laws_of_the_peak(slug, settings, recipe):
    dtype = "fp32" if recipe in ("fp32", "autocast") else "bf16"
    peaks = []
    for batch in (1, 2, 4):
        ledger = training_ledger(workload(slug, batch=batch, dtype=dtype, **settings), recipe)
        held = ledger.static
        assert ledger.peak >= held.weights + held.master + held.optimiser + ledger.kept
        assert ledger.peak >= held.total
        assert ledger.profile[-1].total >= held.total
        assert all(value >= -1e-3 for moment in ledger.profile for value in moment.bytes)
        peaks.append(ledger.peak)
    assert peaks[0] <= peaks[1] <= peaks[2]
    assert peaks[1] < 2 * peaks[0]
    assert peaks[2] < 2 * peaks[1]


def test_nothing_is_left_when_backward_is_done():
    """Each tensor that appears goes: after the first op's backward only the batch is there."""
    graph = workload("gpt2", batch=2, seq=32, dtype="fp32")
    ledger = training_ledger(graph, accumulate=2)
    update = dict(zip(ROWS, ledger.profile[-1].bytes, strict=True))
    last = dict(zip(ROWS, ledger.profile[-2].bytes, strict=True))
    ids, table = 2 * 32 * 8, 50257 * 768 * 4  # input_ids and labels; the embedding's gradient before it is added
    assert last["kept"] <= 2 * ids
    assert last["passing"] <= table + 2 * 2 * 32 * 768 * 4 + 2 * ids
    assert update["kept"] == update["head"] == 0


def test_doubling_a_huge_batch_doubles_the_peak():
    growth = Growth(*(training_ledger(workload("gpt2", batch=b, seq=64, dtype="fp32")) for b in (1, 2)))
    assert growth.peak(2e6) / growth.peak(1e6) == pytest.approx(2, rel=1e-4)


@pytest.mark.parametrize(("slug", "seq"), [("gpt2", 96), ("llama3_2_1b", 512), ("resnet18", None)])
def test_growth_is_the_ledger_at_any_batch(slug, seq):
    settings = {"seq": seq} if seq else {}
    one, two, seven = (training_ledger(workload(slug, batch=b, dtype="bf16", **settings), "mixed") for b in (1, 2, 7))
    growth = Growth(one, two)
    assert growth.at(7).peak == pytest.approx(seven.peak, rel=1e-12)
    assert growth.peak(7) == pytest.approx(seven.peak, rel=1e-12)
    assert growth.at(7).rows == pytest.approx(seven.rows, rel=1e-12)
    assert growth.largest(seven.peak) == 7
    assert growth.largest(seven.peak - 1e4) == 6
    assert growth.largest(one.peak - 1e4) == 0


def test_growth_refuses_two_different_steps():
    with pytest.raises(BadValue, match="different ops"):
        Growth(training_ledger(mlp(1)), training_ledger(mlp(2, (784, 10))))


def test_longer_sequences_take_more():
    peaks = [training_ledger(workload("gpt2", batch=1, seq=seq, dtype="fp32")).peak for seq in (64, 128, 512)]
    assert peaks == sorted(peaks)


def test_chunks_free_the_head():
    graph = workload("gpt2", batch=8, seq=1024, dtype="fp32")
    peaks = [training_ledger(graph, loss_chunks=n).peak for n in (1, 2, 4, 8, 16)]
    assert all(a >= b for a, b in pairwise(peaks))
    logits = 8 * 1024 * 50257 * 4
    table = 50257 * 768 * 4
    # three tensors of a chunk's logits in place of three whole ones; the hidden state's gradient and the head's weights' come earlier
    hidden = 8 * 1024 * 768 * 4
    assert peaks[0] - peaks[3] == pytest.approx(3 * logits * 7 / 8 - table - hidden, rel=1e-3)


def test_checkpoints_keep_what_comes_into_a_segment():
    graph = workload("gpt2", batch=4, seq=256, dtype="bf16")
    plain, every = training_ledger(graph, "mixed"), training_ledger(graph, "mixed", checkpoint=12)
    boundary = 4 * 256 * 768 * 2
    log_probabilities = 4 * 256 * 50257 * 4
    assert every.kept == pytest.approx(12 * boundary + log_probabilities + 2 * boundary, rel=0.01)
    assert every.peak < plain.peak
    layer = (plain.kept - log_probabilities) / 12
    in_layer = max(m.bytes[ROWS.index("kept")] for m in every.profile if m.phase == "backward")
    assert in_layer == pytest.approx(12 * boundary + layer, rel=0.05)


def test_recomputing_every_layer_is_a_third():
    graph = workload("gpt2_layer", batch=2, seq=64, dtype="fp32")
    assert recompute(graph, 1) == pytest.approx(1 / 3)
    whole = workload("gpt2", batch=2, seq=64, dtype="fp32")
    assert recompute(whole, 0) == 0
    top = next(one for one in whole.ops if one.name == "lm_head").work.matmul_flops
    assert recompute(whole, 12) == recompute(whole, 4) == pytest.approx((1 - top / whole.flops) / 3)


def test_best_checkpoints_by_brute_force():
    """48 layers that keep 34 and pass on 2: 24 segments, 116 units; √48 ≈ 7 would take 252, the continuous optimum 114."""
    assert best_checkpoints(48, 2.0, 34.0) == 24
    assert checkpoint_bytes(48, 2.0, 34.0, 24) == 116
    assert checkpoint_bytes(48, 2.0, 34.0, 29) == 126
    assert checkpoint_bytes(48, 2.0, 34.0, 48) == 130
    assert checkpoint_bytes(48, 2.0, 34.0, 7) == 7 * 2 + 7 * 34
    count, least = continuous_checkpoints(48, 2.0, 34.0)
    assert count == pytest.approx((17 * 48) ** 0.5)
    assert least == pytest.approx(2 * (34 * 2 * 48) ** 0.5)
    assert least <= 116
    assert continuous_checkpoints(49, 1.0, 1.0)[0] == 7  # √L where a layer keeps what it passes on
    assert best_checkpoints(49, 1.0, 1.0) == 7
    assert best_checkpoints(4, 100.0, 1.0) == 1 and best_checkpoints(4, 0.01, 1.0) == 4  # what passes on is all, or nothing


def test_accumulation_only_brings_the_gradients_earlier():
    graph = workload("gpt2", batch=2, seq=128, dtype="bf16")
    once, often = (training_ledger(graph, "mixed", accumulate=n) for n in (1, 16))
    grown = {row for row in ROWS if often.rows[row] > once.rows[row]}
    assert grown <= {"passing", "head"}  # a weight's new gradient, until it is added
    assert often.rows["gradients"] == once.rows["gradients"] == 2 * graph.params
    assert often.rows["kept"] == once.rows["kept"]
    assert often.profile[0].bytes[ROWS.index("gradients")] == 2 * graph.params
    assert once.profile[0].bytes[ROWS.index("gradients")] == 0


def test_the_update_is_a_second_peak():
    """AdamW takes all square roots at once: 4 bytes a parameter beside the 16."""
    graph = workload("gpt2", batch=1, seq=1, dtype="fp32")
    ledger = training_ledger(graph)
    assert ledger.peak_at.phase == "update"
    assert ledger.peak == pytest.approx(20 * graph.params, rel=1e-4)
    assert training_ledger(graph, "fp32", "sgd").profile[-1].total == pytest.approx(8 * graph.params, rel=1e-4)


def test_with_a_master_copy_the_update_goes_tensor_by_tensor():
    graph = workload("gpt2", batch=1, seq=1, dtype="bf16")
    largest = max(t.size for t in parameters(graph))
    assert training_ledger(graph, "mixed").profile[-1].total == pytest.approx(16 * graph.params + 8 * largest, rel=1e-4)
    assert training_ledger(graph, "mixed_fp32_grads").profile[-1].total == pytest.approx(18 * graph.params + 4 * largest, rel=1e-4)


def test_zero_and_offload():
    graph = workload("gpt2", batch=1, seq=64, dtype="bf16")
    n = graph.params
    assert training_ledger(graph, "mixed", zero_stage=1, devices=4).static.total == pytest.approx(n * (4 + 12 / 4), rel=1e-4)
    whole = training_ledger(graph, "mixed", zero_stage=3, devices=4)
    assert whole.static.total == pytest.approx(n * 16 / 4, rel=1e-4)
    assert whole.profile[-1].bytes[ROWS.index("gradients")] == pytest.approx(2 * n / 4)
    away = training_ledger(graph, "mixed", offload=True)
    assert away.static.total == pytest.approx(4 * n, rel=1e-4)
    assert away.profile[-1].total == pytest.approx(4 * n, rel=1e-3)


def test_fits():
    ledger = training_ledger(mlp(4))
    assert ledger.fits(ledger.peak)
    assert not ledger.fits(ledger.peak - 1)


def test_refusals_say_what_to_do():
    with pytest.raises(BadValue, match="dtype='bf16'"):
        training_ledger(workload("gpt2", dtype="fp32"), "mixed")
    with pytest.raises(BadValue, match="dtype='fp32'"):
        training_ledger(workload("gpt2", dtype="bf16"), "fp32")
    with pytest.raises(BadValue, match="at least 1 microbatch"):
        training_ledger(workload("gpt2", dtype="fp32"), accumulate=0)
    x = Tensor("x", (4, 8), "fp32", "input")
    with pytest.raises(BadValue, match="nothing to train"):
        training_ledger(Graph("g", (op("gelu", "y", (x,), (Tensor("y", (4, 8), "fp32"),)),), "fp32"))


def test_the_peak_follows_the_vocabulary():
    from ironlaw.registry.families import FAMILIES
    from ironlaw.registry.workloads import about

    params = about("gpt2")["params"]
    ratios = []
    for vocab in (1000, 50_257, 200_000):
        graph = FAMILIES["gpt2"](**{**params, "vocab": vocab}, batch=8, seq=1024, dtype="fp32")
        ratios.append(training_ledger(graph).at_peak("head"))
    assert ratios == sorted(ratios)
    assert ratios[2] / ratios[1] == pytest.approx(200_000 / 50_257, rel=1e-3)


def test_turning_the_dials_keeps_only_some_of_the_passes():
    """Sixty setups of one model leave a dozen of its passes behind, not sixty: a server would hold gigabytes after an afternoon."""
    graph = workload("gpt2", batch=1, dtype="fp32", seq=64)
    for checkpoint in range(12):
        for chunks in (1, 2, 4, 8, 16):
            training_ledger(graph, "fp32", "adamw", checkpoint=checkpoint, loss_chunks=chunks)
    runs = graph.plans["runs"]
    assert len(runs) == RUNS
    again = training_ledger(graph, "fp32", "sgd", checkpoint=11, loss_chunks=16).run
    assert again is [*runs.values()][-1]  # the one asked for last is still there
