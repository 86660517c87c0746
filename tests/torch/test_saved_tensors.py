"""How many tensors autograd saves of an operator, which is how often a checkpoint's hooks are called for it."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from ironlaw.engine.device.host import saved  # noqa: E402
from ironlaw.engine.device.types import Tensor  # noqa: E402
from ironlaw.engine.device.work import op  # noqa: E402


def test_a_hook_sees_every_tensor_that_an_op_saves():
    """Counted by PyTorch itself: without reentry a checkpoint's hooks are called with each of them."""

    x, w, b = (torch.randn(4, 8, requires_grad=True), torch.randn(8, requires_grad=True), torch.randn(8, requires_grad=True))
    m, i, c = (
        torch.randn(8, 8, requires_grad=True),
        torch.randn(2, 3, 6, 6, requires_grad=True),
        torch.randn(5, 3, 3, 3, requires_grad=True),
    )
    shape = (4, 8)
    cases = {
        "tanh": (x.tanh, [x], shape, {}),
        "gelu": (lambda: functional.gelu(x), [x], shape, {}),
        "linear": (lambda: functional.linear(x, m, b), [x, m, b], shape, {}),
        "layer_norm": (lambda: functional.layer_norm(x, (8,), w, b), [x, w, b], shape, {}),
        "conv2d": (lambda: functional.conv2d(i, c, padding=1), [i, c], (2, 5, 6, 6), {}),
        "add": (lambda: x + m[:4], [x, m[:4]], shape, {}),
    }
    for kind, (call, inputs, out, attrs) in cases.items():
        seen = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t, seen=seen: seen.append(t) or t, lambda t: t):
            call()
        tensors = tuple(Tensor(f"{kind}{n}", tuple(t.shape), "fp32") for n, t in enumerate(inputs))
        assert saved(op(kind, kind, tensors, (Tensor(f"{kind} out", out, "fp32"),), **attrs)) == len(seen), kind
