"""Which tensors of a loss can be computed for an eighth of the tokens at a time; tests/torch runs it on whole steps."""

import pytest

from ironlaw.engine.advice import chunked_loss
from ironlaw.engine.advice.chunked_loss import LEAST, PARTS, in_parts
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op

TOKENS, HIDDEN, VOCAB = 4096, 64, 50_000


@pytest.mark.parametrize(
    ("shape", "less"),
    [
        ((4096, 64), (512, 64)), ((64, 4096), (64, 512)), ((2, 2048, 64), (512, 64)), ((2, 2048), (512,)), ((4096,), (512,)),
        ((64, 64, 2), (512, 2)), ((64, 63), None), ((), None),
    ],
)  # fmt: skip
def test_an_eighth_of_a_tensor(shape, less):
    found = chunked_loss._less(Tensor("x", shape, "fp32"), TOKENS)
    assert (found.shape if found else None) == less


def step(tokens=TOKENS, kind="linear", backwards=1, losses=1):
    x, w = Tensor("x", (tokens, HIDDEN), "fp32", "input"), Tensor("w", (VOCAB, HIDDEN), "fp32", "weight")
    logits, dx = Tensor("logits", (tokens, VOCAB), "fp32"), Tensor("dx", (tokens, HIDDEN), "fp32")
    shares = [Tensor(f"shares{i}", (tokens, VOCAB), "fp32") for i in range(losses)]
    gradient, below = Tensor("gradient", (tokens, VOCAB), "fp32"), Tensor("below", (tokens, HIDDEN), "fp32")
    ops = (
        op(kind, "head", (x, w), (logits,)), *(op("log_softmax", f"loss{i}", (logits,), (one,)) for i, one in enumerate(shares)),
        op("mul", "gradient", (shares[0],), (gradient,)), op("matmul", "back", (gradient, w), (dx,)),
        op("relu", "further", (dx,), (below,)),
    )  # fmt: skip
    return Graph("step", ops, "fp32", {"backwards": (len(ops),) * backwards}, ("below",))


def test_each_part_goes_all_the_way_before_the_next():
    parts = in_parts(step())
    made = [one for one in parts.ops if one.kind in ("linear", "log_softmax", "matmul")]
    assert [one.kind for one in made] == ["linear", "log_softmax", "matmul"] * PARTS
    assert all(one.outputs[0].shape[0] == TOKENS // PARTS for one in made)
    assert sum(one.work.matmul_flops for one in made) == 2 * 2 * TOKENS * HIDDEN * VOCAB  # none is computed twice
    assert max(t.bytes for one in made for t in one.outputs) == 4 * TOKENS * VOCAB / PARTS and LEAST <= 4 * TOKENS * VOCAB


@pytest.mark.parametrize("changes", [{"tokens": 4097}, {"kind": "add"}, {"backwards": 2}, {"losses": 2}, {"tokens": 64}])
def test_a_step_that_is_left_as_it_is(changes):
    assert in_parts(step(**changes)) is None
