"""Values for tensors that have none, and operators that take functions: what is drawn is typical, and what is run is the right part."""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from ironlaw.tracing import higher_order, triton_launches  # noqa: E402
from ironlaw.tracing.stand_ins import COMPUTED, ROTATION, Vocabulary, buffer, drawn, normal, spread, value_of, vocabulary_of, weight  # noqa: E402

WORDS = Vocabulary(50, 7)


def empty(*shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("attention_mask", [[1, 1, 1], [1, 1, 1]], "attention_mask (all ones)"),
        ("position_ids", [[0, 1, 2], [0, 1, 2]], "position_ids (0, 1, 2, …)"),
        ("token_type_ids", [[0, 0, 0], [0, 0, 0]], "token_type_ids (zeros)"),
        ("lengths", [[1, 1, 1], [1, 1, 1]], "lengths (ones)"),
    ],
)
def test_inputs_by_their_names(name: str, values: list[list[int]], words: str):
    drawn, said = value_of(empty(2, 3), name, "input", WORDS)
    assert drawn.tolist() == values and drawn.dtype == torch.int64 and said == words


def test_ids_lie_in_the_vocabulary_and_each_sequence_ends_once():
    ids, said = value_of(empty(40, 30), "input_ids", "input", WORDS)
    assert said == "input_ids (random ids)" and 0 <= int(ids.min()) <= int(ids.max()) < 50
    assert (ids == 7).sum(1).tolist() == [1] * 40 and set(ids[:, -1].tolist()) == {7}
    assert int(value_of(empty(900, dtype=torch.uint8), "pixels", "input", Vocabulary(50_000))[0].max()) < 127


def test_how_many_ids_there_are():
    config = SimpleNamespace(vocab_size=50, eos_token_id=[7, 8])
    assert vocabulary_of(SimpleNamespace(config=SimpleNamespace(text_config=config))) == WORDS
    assert vocabulary_of(torch.nn.Sequential(torch.nn.Embedding(9, 2), torch.nn.Embedding(30, 2))) == Vocabulary(30, -1)


def test_a_matrix_keeps_the_spread_of_what_it_is_applied_to():
    torch.manual_seed(0)
    x = normal((64, 400))
    made = weight(empty(300, 400, dtype=torch.float32), "up.weight")
    assert float((x @ made.T).std()) == pytest.approx(1, abs=0.05)
    assert spread(torch.full((8, 8), -3.0), "w") == pytest.approx(3) and spread(empty(8, 25, 2, dtype=torch.float32), "w") == 1 / math.sqrt(
        50
    )
    assert weight(empty(3, dtype=torch.float16), "norm.bias").tolist() == [0, 0, 0] and weight(
        empty(2, dtype=torch.float16), "norm"
    ).tolist() == [1, 1]
    values, said = value_of(empty(3, dtype=torch.float32), "norm.weight", "weight", WORDS)
    assert values.tolist() == [1, 1, 1] and said == "weights as after initialisation"


def test_buffers():
    assert buffer(empty(2, 3), "embeddings.position_ids").tolist() == [[0, 1, 2], [0, 1, 2]]
    rotation = buffer(empty(4, dtype=torch.float32), "rotary.inv_freq")
    assert rotation.tolist() == pytest.approx([ROTATION ** (-i / 4) for i in range(4)])
    assert buffer(empty(2, dtype=torch.float32), "bn.running_var").tolist() == [1, 1]
    assert buffer(empty(2, dtype=torch.float32), "bn.running_mean").tolist() == [0, 0]
    assert value_of(empty(2), "count", "buffer", WORDS)[1] == "the buffer count" and buffer(empty(2), "count").tolist() == [0, 0]


def test_what_was_not_computed():
    values, said = value_of(empty(50, 50, dtype=torch.complex64), "", "result", WORDS)
    assert (
        said == "a result that was not computed"
        and values.is_complex()
        and float(values.abs().square().mean()) == pytest.approx(1, abs=0.1)
    )
    assert drawn(empty(3)).tolist() == [0, 0, 0]


def test_kernels_of_a_gpu_are_computed_as_pytorch_defines_them():
    x = torch.tensor([[3.0, 4.0]])
    root = math.sqrt((9 + 16) / 2)
    assert COMPUTED["ironlaw::rms_norm"](x, [2], torch.tensor([1.0, 2.0])).tolist()[0] == pytest.approx([3 / root, 8 / root], rel=1e-4)


def operator(name: str) -> SimpleNamespace:
    return SimpleNamespace(__name__=name)


def ran(name: str, *args: object, **kwargs: object) -> object:
    return higher_order.run(nullcontext(), operator(name), args, kwargs)


def test_a_branch_is_chosen_by_its_value():
    double, negative = (lambda x: (2 * x,)), (lambda x: (-x,))
    assert ran("cond", torch.tensor(True), double, negative, (3,)) == (6,) and ran("cond", False, double, negative, (3,)) == (-3,)


def test_a_loop_runs_until_its_condition_fails():
    assert ran("while_loop", lambda i, step: torch.tensor(i < 10), lambda i, step: (i + step,), (1,), (4,)) == (13,)


def test_a_part_of_a_program_is_run_with_its_tensors_and_without_its_settings():
    one = torch.ones(2)
    assert ran("wrap_with_set_grad_enabled", False, lambda x, y: x + y, one, "name", 2 * one).tolist() == [3, 3]
    for name, arguments in (("map", (len, max, one)), ("flex_attention_backward", ())):
        with pytest.raises(RuntimeError, match=f"HigherOrderOperator {name}"):
            ran(name, *arguments)


def test_a_kernel_that_a_program_launches_is_recorded(monkeypatch: pytest.MonkeyPatch):
    """As PyTorch's table holds it: the kernel behind its tuner, constants apart; a functional launch gives back what it writes."""
    from torch._higher_order_ops import triton_kernel_wrap

    kernel = SimpleNamespace(fn=SimpleNamespace(arg_names=["x", "n"], __name__="double"), arg_names=["x", "n"])
    table = SimpleNamespace(get_kernel=lambda i: {5: kernel}[i], get_constant_args=lambda i: {6: {"n": 4}}[i])
    monkeypatch.setattr(triton_kernel_wrap, "kernel_side_table", table)
    seen: list[tuple[object, ...]] = []
    monkeypatch.setattr(triton_launches, "record", lambda *said: seen.append(said))
    x = torch.ones(4)
    kwargs = {"kernel_idx": 5, "constant_args_idx": 6, "kwargs": {"x": x}, "tensors_to_clone": ["x"]}
    given = ran("triton_kernel_wrapper_functional", **kwargs)
    assert given == {"x": x} and ran("triton_kernel_wrapper_mutation", **kwargs) is None
    assert [one[1:] for one in seen] == [("double", {"n": 4, "x": x})] * 2
