"""The cache of fake results changes nothing: the same graph with it and without it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.tracing import fake_results  # noqa: E402
from ironlaw.tracing.fake_results import FakeResultCache  # noqa: E402

SMALL = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}


def views(x: Any) -> Any:
    for _ in range(3):
        x = x.t()[1:].transpose(0, 1).reshape(-1, 4).t().contiguous().chunk(2)[1].t() + x.expand(2, *x.shape)[0].mean()
        x = x.repeat(2, 2)[:8, :8].clone()
    return x.exp_().view(-1)


def written(x: Any) -> Any:
    for _ in range(3):
        x.add_(x.clone(), alpha=2).mul_(2.0)
        x[1:].copy_(x[0]).clamp_(0)
        x.t_()
    return torch.add(x, x, out=torch.empty(0))


def models() -> dict[str, Any]:
    with torch.device("meta"):
        llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=2)).eval()
        settings = {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 2], "image_size": 64, "window_size": 4}
        swin = transformers.SwinModel(transformers.SwinConfig(**settings)).eval()
    convs = nn.Sequential(*[nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(3)]).eval()
    last = torch.empty(2, 8, 16, 16).to(memory_format=torch.channels_last)
    return {
        "llama": (llama, (torch.zeros(2, 16, dtype=torch.long),)), "swin": (swin, (torch.empty(1, 3, 64, 64),)),
        "convolutions": (convs.to(memory_format=torch.channels_last), (last,)), "views": (views, (torch.empty(8, 8),)),
        "written": (written, (torch.empty(8, 6),)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "training"),
    [
        ("llama", False),
        ("llama", True),
        ("swin", False),
        ("convolutions", False),
        ("convolutions", True),
        ("views", False),
        ("written", False),
    ],
)
def test_the_same_graph(name: str, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, args = models()[name]
    hits: list[int] = []
    again = FakeResultCache.again
    monkeypatch.setattr(fake_results, "_known", {})
    with monkeypatch.context() as patched:
        patched.setattr(FakeResultCache, "again", lambda self, *more: hits.append(1) or again(self, *more))
        short = il.capture(model, args, training=training)
    with monkeypatch.context() as patched:
        for method in ("__call__", "written"):
            patched.setattr(FakeResultCache, method, lambda self, func, args, kwargs, tensors_in: func(*args, **kwargs))
        long = il.capture(model, args, training=training)
    if name == "written":
        assert sum(known[0] == fake_results.GIVEN for known in fake_results.shared().values()) >= 4
    else:
        assert len(hits) > 0.3 * len(short.ops)
    assert [(op.name, op.key, op.inputs, op.outputs) for op in short.ops] == [(op.name, op.key, op.inputs, op.outputs) for op in long.ops]
    assert short.outputs == long.outputs


def test_a_result_on_one_device_is_not_taken_for_another() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    cache, detach = FakeResultCache(mode := FakeTensorMode()), torch.ops.aten.detach.default
    with mode:
        made = [torch.empty(4, device=device) for device in ("cpu", "meta")]
        devices = [cache(detach, (x,), {}, [x]).device.type for x in made]
    assert devices == ["cpu", "meta"]
