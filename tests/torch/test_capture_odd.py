"""Modules that a sceptical engineer would try: wrappers, hard-coded devices, transforms, values that leave PyTorch, broken calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.errors import BadValue  # noqa: E402

X = torch.empty(2, 8)
LINEAR = ["linear", "relu"]


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.linear(x))


def kinds(call: Any, *args: Any, **more: Any) -> list[str]:
    graph = il.capture(call, args, more.pop("kwargs", None), **more)
    assert graph.settings["unknown"] == {}
    return [op.kind for op in graph.ops]


# ---- what must work


def test_wrappers_are_looked_through() -> None:
    assert kinds(torch.compile(Small()), X) == LINEAR
    assert kinds(nn.DataParallel(Small()), X) == LINEAR

    @torch.compile
    def inside(x: Any) -> Any:
        return torch.compile(torch.exp)(x) + 1

    assert kinds(inside, X) == ["exp", "shift"]
    assert torch.compile is not None and torch.compile.__module__ == "torch"  # put back


def test_hard_coded_devices() -> None:
    assert kinds(lambda x: x + torch.arange(8, device="cuda"), X) == ["fill", "add"]
    assert kinds(lambda x: x.to("cuda:0") * 2, X) == ["copy", "scale"]
    assert kinds(lambda x: x.cuda().to(torch.device("cuda", 1), torch.half).exp(), X) == ["copy", "cast", "exp"]


def test_transforms_of_functions() -> None:
    assert kinds(torch.vmap(lambda row: (row * 2).sum()), X) == ["scale", "sum"]
    assert "cos" in kinds(torch.func.grad(lambda y: y.sin().sum()), X)


def test_hooks_lists_and_objects() -> None:
    @dataclass
    class Batch:
        x: Any
        times: int

    hooked = Small()
    hooked.register_forward_hook(lambda module, args, out: out * 2)
    hooked.linear.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    assert kinds(hooked, X) == ["shift", *LINEAR, "scale"]
    assert kinds(lambda batch: batch.x * batch.times, Batch(X, 3)) == ["scale"]
    assert kinds(lambda xs, more: xs[0] + more["y"], [X, X], {"y": X, "none": None}) == ["add"]


def test_writing_through_views_and_masks() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        y[:, 0] = 1
        y[y > 0] = 0
        y.view(-1)[2:4].add_(1)
        return y

    graph = il.capture(f, (X,))
    assert [op.kind for op in graph.ops] == ["copy", "fill", "compare", "scatter", "shift"]
    assert [op.attrs.get("inplace", False) for op in graph.ops] == [False, True, False, True, True]


def test_a_loop_that_grows_its_input() -> None:
    def decode(x: Any) -> Any:
        for _ in range(3):
            x = torch.cat([x, x[:, -1:] * 2], 1)
        return x

    graph = il.capture(decode, (X,))
    assert [op.kind for op in graph.ops] == ["scale", "cat"] * 3
    assert graph.tensors[graph.outputs[0]].shape == (2, 11)


def test_printing_and_random_numbers() -> None:
    def f(x: Any) -> Any:
        print(x)
        return x + torch.randn_like(x)

    assert kinds(f, X) == ["fill", "add"]


def test_flexible_attention() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    q = torch.empty(1, 2, 128, 32)
    graph = il.capture(lambda: flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j)))
    assert [op.kind for op in graph.ops if op.kind == "attention"] == ["attention"]
    assert graph.flops == 4 * 2 * 128 * 128 * 32


def test_checkpointing_runs_the_forward_pass_again() -> None:
    from torch.utils.checkpoint import checkpoint

    class Checked(Small):
        def forward(self, x: Any) -> Any:
            return checkpoint(super().forward, x, use_reentrant=False)

    forward = 2 * 2 * 8 * 8
    assert il.capture(Small(), (X,), training=True).flops == 2 * forward  # the input needs no gradient
    assert il.capture(Checked(), (X,), training=True).flops == 3 * forward


@pytest.mark.parametrize(
    ("call", "shape", "expected"),
    [
        (nn.Upsample(scale_factor=2, mode="trilinear"), (1, 2, 4, 4, 4), ["upsample"]),
        (lambda x: F.grid_sample(x, torch.empty(1, 4, 4, 2), align_corners=False), (1, 3, 8, 8), ["grid_sample"]),
        (nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)), (2, 8), ["mul", "matmul"]),
        (nn.InstanceNorm2d(4), (2, 4, 8, 8), ["batch_norm_train"]),
        (lambda x: torch.cat([x, x[:0]]), (4, 4), ["cat"]),
        (lambda x: torch.einsum("bij,bjk->bik", x, x), (2, 4, 4), ["bmm"]),
    ],
)
def test_ops_that_are_not_everyday(call: Any, shape: tuple[int, ...], expected: list[str]) -> None:
    assert kinds(call, torch.empty(shape)) == expected


# ---- what can't work says where and why


@pytest.mark.parametrize(
    ("call", "args", "said"),
    [
        (torch.jit.trace(Small(), torch.zeros(2, 8)), (X,), "a scripted or traced module hides its operators; capture the nn.Module"),
        (nn.LazyLinear(4), (X,), "weight has no shape yet because its layer is lazy"),
        (Small(), (X.half(),), r"test_capture_odd\.py:\d+ .*addmm of fp32 and fp16: both must have one number format"),
        (Small(), (), "missing 1 required positional argument: 'x'"),
        (lambda x: x.view(-1), (X,), "ran no operator on a tensor"),
        (lambda x: torch.nested.nested_tensor([x, x]), (X,), "_nested_tensor_from_tensor_list"),
    ],
)
def test_broken_calls(call: Any, args: tuple[Any, ...], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        il.capture(call, args)


def test_an_error_of_several_lines_is_told_whole() -> None:
    """PyTorch says which keys are missing below its first line."""

    def call(x: torch.Tensor) -> torch.Tensor:
        torch.nn.Linear(2, 2).load_state_dict({"wrong": x})
        return x

    with pytest.raises(il.IronlawError) as error:
        il.capture(call, (torch.ones(2),))
    assert 'Missing key(s) in state_dict: "weight", "bias"' in str(error.value) and "\n" not in str(error.value)


def test_copies_of_views_are_copies():
    """What a metric's count of classes runs."""

    def diagonal(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.diagonal_copy(x) + torch.ops.aten.select_copy(x, 0, 1)

    graph = il.capture(diagonal, (torch.empty(8, 8),))
    assert [(op.kind, op.outputs[0].shape) for op in graph.ops] == [("copy", (8,)), ("copy", (8,)), ("add", (8,))]
    assert not graph.settings["unknown"]
