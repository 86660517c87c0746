"""The registry's workloads as PyTorch modules with random weights, so that they can be run here. Nothing is downloaded.

Convolutional models and MLPs are written out below, in PyTorch alone; transformers builds those it has (`builders_transformers`). Tests
hold each to the registry's graph: as many parameters, and the same ops in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ironlaw.engine.device.memory import footprint
from ironlaw.errors import BadValue
from ironlaw.formats import FORMATS, MODEL_FORMATS
from ironlaw.registry.workloads import about, workload
from ironlaw.units import show

SETTINGS = ("batch", "seq", "classes")  # of a workload, beside its format


@dataclass
class Built:
    """A module, the call that runs it, and the settings that `workload` takes for the same graph."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def build(slug: str, *, batch: int | None = None, seq: int | None = None, dtype: str, device: str, room: float) -> Built:
    """A workload on `device`. `room`: bytes that are free there; a model that needs more is refused before it is made."""
    if dtype not in MODEL_FORMATS:
        raise BadValue(f"PyTorch can't run {slug} in {dtype} as it is; give fp32, fp16 or bf16")
    graph = workload(slug, batch=batch, seq=seq, dtype=dtype)
    need = float(footprint(graph).total)
    if need > room:
        raise BadValue(
            f"{slug} in {dtype} needs {show(need, 'B')}, but only {show(room, 'B')} is free here; try a smaller model or --batch"
        )
    data = about(slug)
    family, params = data["family"], data.get("params", {})
    settings = {key: graph.settings[key] for key in SETTINGS if key in graph.settings}
    before = torch.get_default_dtype()
    kind = FORMATS[dtype].in_torch(torch)
    torch.set_default_dtype(kind)
    try:
        with torch.device(device):
            module = model(family, params, settings.get("classes"))
            args = inputs(family, params, settings["batch"], settings.get("seq", 0))
    finally:
        torch.set_default_dtype(before)
    kwargs = {"use_cache": False} if family in ("gpt2", "llama", "moe") and not params.get("bare") else {}
    return Built(module.to(device, kind).eval(), args, kwargs, settings | {"dtype": dtype})


def model(family: str, params: dict[str, Any], classes: int | None) -> nn.Module:
    if family in HERE:
        return HERE[family](params, classes)
    from ironlaw.measure.models.builders_transformers import model as with_transformers

    return with_transformers(family, params, classes)


def inputs(family: str, p: dict[str, Any], batch: int, seq: int) -> tuple[Tensor, ...]:
    """Random values in the default format, on the default device."""
    if family == "mlp":
        return (torch.randn(batch, p["width"]),)
    if family == "ds_cnn":
        return (torch.randn(batch, 1, p["frames"], p["features"]),)
    if family == "unet":
        return torch.randn(batch, p["channels"], p["size"], p["size"]), torch.randn(batch, p["time"])
    if "image" in p:
        return (torch.randn(batch, 3, p["image"], p["image"]),)
    if p.get("bare"):
        return (torch.randn(batch, seq, p["hidden"]),)
    return (torch.randint(p["vocab"], (batch, seq)),)


# ---- in PyTorch alone


def conv_bn(cin: int, cout: int, kernel: Any, stride: int = 1, padding: Any = 0, groups: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(cin, cout, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(cout)]


class Mean(nn.Module):
    """Over height and width."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


def mlp(p: dict[str, Any], classes: int | None) -> nn.Module:
    return nn.Sequential(*(part for _ in range(p["layers"]) for part in (nn.Linear(p["width"], p["width"]), nn.GELU())))


def ds_cnn(p: dict[str, Any], classes: int | None) -> nn.Module:
    c = p["channels"]
    parts = [*conv_bn(1, c, tuple(p["kernel"]), p["stride"], tuple(p["padding"])), nn.ReLU()]
    for _ in range(p["blocks"]):
        parts += [*conv_bn(c, c, 3, 1, 1, c), nn.ReLU(), *conv_bn(c, c, 1), nn.ReLU()]
    return nn.Sequential(*parts, Mean(), nn.Linear(c, classes or 1))


class ResBlock(nn.Module):
    """The residual block of latent diffusion's U-Net (CompVis), with equal channels."""

    def __init__(self, p: dict[str, Any], classes: int | None = None) -> None:
        super().__init__()
        c = p["channels"]
        self.norm1, self.conv1 = nn.GroupNorm(p["groups"], c), nn.Conv2d(c, c, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(p["groups"], c), nn.Conv2d(c, c, 3, padding=1)
        self.time = nn.Linear(p["time"], c)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        act = nn.functional.silu
        y = self.conv1(act(self.norm1(x)))
        y = y + self.time(act(time))[:, :, None, None]
        return x + self.conv2(act(self.norm2(y)))


class Residual(nn.Module):
    """y += x, projected where the shape changes, then ReLU."""

    def __init__(self, cin: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        out = 4 * width if bottleneck else width
        if bottleneck:
            parts = [*conv_bn(cin, width, 1), nn.ReLU(), *conv_bn(width, width, 3, stride, 1), nn.ReLU(), *conv_bn(width, out, 1)]
        else:
            parts = [*conv_bn(cin, width, 3, stride, 1), nn.ReLU(), *conv_bn(width, width, 3, 1, 1)]
        self.body = nn.Sequential(*parts)
        self.shortcut = nn.Sequential(*conv_bn(cin, out, 1, stride)) if stride > 1 or cin != out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        y += self.shortcut(x)
        return nn.functional.relu(y)


def resnet(p: dict[str, Any], classes: int | None) -> nn.Module:
    bottleneck = p["block"] == "bottleneck"
    parts: list[nn.Module] = [*conv_bn(3, p["stem"], 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = p["stem"]
    for stage, (depth, width) in enumerate(zip(p["depths"], p["widths"], strict=True)):
        for i in range(depth):
            parts.append(Residual(channels, width, 2 if stage and i == 0 else 1, bottleneck))
            channels = 4 * width if bottleneck else width
    return nn.Sequential(*parts, Mean(), nn.Linear(channels, classes or 1000))


class Preactivated(nn.Module):
    """Norm and ReLU before each of two convolutions; the shortcut is projected from what the first norm gave."""

    def __init__(self, cin: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(cin), nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(cin, width, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.shortcut = nn.Conv2d(cin, width, 1, stride, bias=False) if stride > 1 or cin != width else None

    def forward(self, x: Tensor) -> Tensor:
        ready = nn.functional.relu(self.norm1(x))
        kept = x if self.shortcut is None else self.shortcut(ready)
        y: Tensor = self.conv2(nn.functional.relu(self.norm2(self.conv1(ready))))
        y += kept
        return y


def preact(p: dict[str, Any], classes: int | None) -> nn.Module:
    parts: list[nn.Module] = [nn.Conv2d(3, p["stem"], 3, 1, 1, bias=False)]
    channels = p["stem"]
    for stage, (depth, width) in enumerate(zip(p["depths"], p["widths"], strict=True)):
        for i in range(depth):
            parts.append(Preactivated(channels, width, 2 if stage and i == 0 else 1))
            channels = width
    return nn.Sequential(*parts, nn.BatchNorm2d(channels), nn.ReLU(), Mean(), nn.Linear(channels, classes or 10))


class Inverted(nn.Module):
    """MobileNetV2's inverted residual: widen, filter depthwise, narrow; a residual add where the shape stays."""

    def __init__(self, cin: int, out: int, expansion: int, stride: int) -> None:
        super().__init__()
        inner = expansion * cin
        widen = [*conv_bn(cin, inner, 1), nn.ReLU6()] if expansion > 1 else []
        self.body = nn.Sequential(*widen, *conv_bn(inner, inner, 3, stride, 1, inner), nn.ReLU6(), *conv_bn(inner, out, 1))
        self.stays = stride == 1 and cin == out

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.body(x)
        return x + y if self.stays else y


def mobilenet(p: dict[str, Any], classes: int | None) -> nn.Module:
    parts: list[nn.Module] = [*conv_bn(3, p["stem"], 3, 2, 1), nn.ReLU6()]
    channels = p["stem"]
    for expansion, out, repeats, stride in p["stages"]:
        for i in range(repeats):
            parts.append(Inverted(channels, out, expansion, stride if i == 0 else 1))
            channels = out
    return nn.Sequential(*parts, *conv_bn(channels, p["last"], 1), nn.ReLU6(), Mean(), nn.Linear(p["last"], classes or 1000))


HERE: dict[str, Callable[[dict[str, Any], int | None], nn.Module]] = {
    "mlp": mlp, "ds_cnn": ds_cnn, "unet": ResBlock, "resnet": resnet, "mobilenet": mobilenet,
    "preact": preact,
}  # fmt: skip
