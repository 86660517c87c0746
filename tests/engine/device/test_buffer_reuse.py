"""Memory that torch.compile uses again, by hand: what is written over, what is taken again, and what is kept for it."""

from collections.abc import Sequence

import pytest

from ironlaw.engine.device.memory import live_profile
from ironlaw.engine.device.merged_op import merge
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op

KB = 512  # elements of FP16 that take 1 KB


def t(name: str, kb: float, dtype: str = "fp16", role: str = "activation") -> Tensor:
    return Tensor(name, (1, int(kb * KB / (2 if dtype == "fp32" else 1))), dtype, role)


def product(x: Tensor, y: Tensor) -> Op:
    weight = Tensor(f"{x.name} to {y.name}", (y.shape[-1], x.shape[-1]), "fp16", "weight")
    return op("linear", f"to {y.name}", (x, weight), (y,))


def loop(x: Tensor, y: Tensor, kind: str = "scale") -> Op:
    """Two ops in one kernel."""
    inner = t(f"{y.name} inner", x.bytes / 1024, x.dtype)
    both = op("relu", f"{y.name} relu", (x,), (inner,)), op(kind, y.name, (inner,), (y,))
    return merge(both, {y.name}, {one.name: one for one in (x, inner, y)})


def profile(*ops: Op, outputs: Sequence[str] = ()) -> list[float]:
    """KB in memory before the first op and while each runs."""
    return [float(live) / 1024 for live in live_profile(Graph("by hand", ops, outputs=tuple(outputs) or (ops[-1].outputs[0].name,)))]


x, a, b, c, d = t("x", 1, role="input"), t("a", 8), t("b", 8), t("c", 2), t("d", 8)


def test_a_loop_writes_over_what_nobody_reads_any_more():
    assert profile(product(x, a), loop(a, b), product(b, c)) == [1, 9, 9, 11]  # of two neighbours the second lies in the first


def test_what_is_read_later_stays():
    later = op("add", "later", (b, a), (t("sum", 8),))
    assert profile(product(x, a), loop(a, b), later) == [1, 9, 17, 17]  # and the sum lies in one of them


@pytest.mark.parametrize(("y", "kind"), [(t("b", 16, "fp32"), "cast"), (t("b", 4), "transpose"), (t("b", 8), "transpose")])
def test_another_format_size_or_order_has_memory_of_its_own(y: Tensor, kind: str):
    assert profile(product(x, a), loop(a, y, kind)) == [1, 9, 9 + y.bytes / 1024]


def test_an_input_is_never_written_over():
    assert profile(loop(t("x", 8, role="input"), b), product(b, c)) == [8, 16, 18]


def test_a_product_takes_the_memory_that_was_let_go_just_before():
    # `a` is gone after `c` was made from it, and `d` is made next
    assert profile(product(x, a), product(a, c), product(c, d), loop(d, b)) == [1, 9, 11, 11, 9]


def test_memory_is_kept_for_a_result_as_long_as_that_is_within_what_is_expected_at_most():
    e, f = t("e", 3), t("f", 4)
    steps = product(x, a), product(a, c), product(c, e), product(e, d), loop(d, b)
    # expected beside the input if nothing is used again: 8, 10, 5, 11, 16; so 8 KB may be kept while `e` is made
    assert profile(*steps) == [1, 9, 11, 14, 12, 9]
    # but not while `f` and a tensor of 8 KB in FP32 are there, since the most is 16 KB again
    g = t("g", 8, "fp32")
    between = product(x, a), product(a, c), product(c, f), product(f, g), product(g, d), loop(d, b)
    assert profile(*between) == [1, 9, 11, 7, 13, 17, 9]


@pytest.mark.parametrize(("count", "first", "most"), [(8, 10, 17), (9, 19, 19)])
def test_pieces_of_a_long_concatenation_are_put_in_place_as_they_are_made(count: int, first: int, most: int):
    made = [t(f"h{i}", 8) for i in range(count + 1)]
    rest = [t(f"p{i}", 1) for i in range(count)]
    loops = [step for i in range(count) for step in (product(made[i], rest[i]), loop(made[i], made[i + 1]))]
    held = profile(product(x, made[0]), *loops, op("cat", "all", tuple(rest), (t("all", count),)))
    # eight pieces pile up beside `h`, and then beside their concatenation; of nine each goes where it belongs, from the first on
    assert (held[2], max(held)) == (first, most)


def test_eager_code_uses_nothing_again():
    assert profile(product(x, a), op("relu", "relu", (a,), (b,)), product(b, c)) == [1, 9, 17, 11]
