"""Products of vectors, looked-up rows that are summed up, and a norm: work by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

import ironlaw as il  # noqa: E402

ROWS, DEPTH = 8, 5
MATRIX, VECTOR = torch.ones(ROWS, DEPTH), torch.ones(DEPTH)


@pytest.mark.parametrize(
    ("call", "args", "rows"),
    [
        (torch.mv, (MATRIX, VECTOR), ROWS), (torch.addmv, (torch.ones(ROWS), MATRIX, VECTOR), ROWS), (torch.dot, (VECTOR, VECTOR + 1), 1),
        (torch.vdot, (VECTOR, VECTOR + 1), 1),
    ],
)  # fmt: skip
def test_a_product_with_a_vector(call: Callable[..., torch.Tensor], args: tuple[torch.Tensor, ...], rows: int):
    graph = il.capture(call, args)
    (one,) = graph.ops
    assert one.kind == "matmul" and one.work.matmul_flops == 2 * rows * DEPTH and graph.settings["unknown"] == {}
    assert float(one.work.bytes) == 4 * (rows * DEPTH + DEPTH + rows)


def test_rows_that_are_looked_up_and_summed():
    bag = torch.nn.EmbeddingBag(1000, 64)
    with torch.no_grad():
        graph = il.capture(bag, (torch.zeros(32, 20, dtype=torch.long),))
    (looked_up,) = (one for one in graph.ops if one.kind == "embedding")
    assert looked_up.attrs["how"] == "bags" and float(looked_up.work.read) == 32 * 20 * (8 + 64 * 4)  # ids, and a row for each


def test_the_larger_of_two_and_a_norm_that_pytorch_has_as_one():
    def run(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(torch.maximum(x, 2 * x), (DEPTH,), gain)

    with torch.no_grad():
        graph = il.capture(run, (MATRIX, VECTOR))
    assert [one.kind for one in graph.ops] == ["scale", "greatest", "rms_norm"]
    (norm,) = (one for one in graph.ops if one.kind == "rms_norm")
    assert float(norm.work.bytes) == 4 * (2 * ROWS * DEPTH + DEPTH)
