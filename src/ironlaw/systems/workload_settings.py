"""What is asked of a model, whoever asks: the sizes it takes, its phase, in what products are computed, who launches, what it costs.

A question takes these parameters over by their names (`fields.same`); `asked` below is such a question, or a command's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.host import Host
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.systems.fields import among, custom, figure, several, switch, whole
from ironlaw.systems.registry_names import read_format, read_prices
from ironlaw.systems.value_readers import read_whole

SIZES = "the workload's settings (each defaults to what its file says)"
LAUNCHES = "the host that launches kernels (default: a typical server, the same for every GPU)"
COSTS = "costs"


def read_host(given: str | Host) -> Host:
    """A host of the registry, or `here`."""
    from ironlaw.registry.hosts import host

    return given if isinstance(given, Host) else host(given)


@dataclass(frozen=True)
class Sizes:
    """The sizes that a workload may take; its family says which of them it does."""

    batch: tuple[int, ...] | None = several(
        read_whole, None, what="number", metavar="N[,N]", group=SIZES, about="samples per call; several are shown side by side"
    )
    seq: int | None = whole(None, metavar="N", group=SIZES, about="tokens per sequence")
    phase: str | None = among(
        ("prefill", "decode"), None, group=SIZES, about="a language model's forward pass over `seq` tokens, or one step after `context`"
    )
    prefill: int | None = whole(None, metavar="N", group=SIZES, about="process a prompt of N tokens; only the last one gets logits")
    decode: bool = switch(False, group=SIZES, about="generate one token after `context` tokens in the cache")
    context: int | None = whole(None, metavar="N", group=SIZES, about="tokens already in the KV cache when decoding")
    dtype: str | None = custom(read_format, None, metavar="FMT", group=SIZES, about="number format: fp32, bf16, fp16, fp8, int8 …")
    classes: int | None = whole(None, metavar="N", group=SIZES, about="number of classes of a classifier")


@dataclass(frozen=True)
class Products:
    """The precision in which products of FP32 tensors are computed."""

    strict_fp32: bool = switch(False, excludes="tf32", about="compute FP32 convolutions in FP32; PyTorch's default is TF32")
    tf32: bool = switch(
        False, excludes="strict_fp32", about='compute FP32 matrix products in TF32 too, as torch.set_float32_matmul_precision("high") does'
    )


@dataclass(frozen=True)
class Launching:
    host: Host | None = custom(  # noqa: RUF009  a field, as all of them
        read_host, None, metavar="NAME", group=LAUNCHES,
        about="xeon_vm (vm), dgx_h100 (bare), or here for this machine, once its host was measured",
    )  # fmt: skip
    launch: float | None = figure(
        None, unit="s", zero=True, metavar="TIME", group=LAUNCHES, about="time the host takes per launch, such as '10 us'"
    )


@dataclass(frozen=True)
class Costs:
    """Shown only to who asks for them."""

    price: Mapping[str, float] | None = custom(
        read_prices,
        None,
        metavar="HW=N[,…]",
        alone={},
        group=COSTS,
        about="dollars per hour, such as h200=3.5; without a value, the registry's prices",
    )
    latency: float | None = figure(
        None, unit="s", metavar="TIME", group=COSTS, about="find the cheapest machine and batch within this latency, such as 50ms"
    )


def launching(asked: Any) -> dict[str, Any]:
    """A plan's `host` and `launch`, from those two options."""
    return {"host": asked.host, "launch": asked.launch}


def fp32(asked: Any) -> str:
    """A plan's `fp32`, from those two options and from a `dtype` of tf32."""
    if asked.strict_fp32 and asked.dtype == "tf32":
        raise BadValue("`strict_fp32` and `dtype=tf32` contradict each other; leave one of them out")
    return "strict" if asked.strict_fp32 else "tf32" if asked.tf32 or asked.dtype == "tf32" else "default"


def by_batch(chosen: dict[str, Any], build: Callable[..., Graph]) -> dict[int | None, Graph]:
    """The graph at each batch that was asked for, or at the model's own; `chosen` are the settings."""
    others = {name: value for name, value in chosen.items() if name != "batch"}
    return {n: build(**others, **({} if n is None else {"batch": n})) for n in chosen.get("batch", (None,))}


def settings(asked: Any) -> dict[str, Any]:
    """The settings that the user gave."""
    names = ("batch", "seq", "context", "phase", "dtype", "classes")
    chosen = {name: getattr(asked, name) for name in names if getattr(asked, name) is not None}
    if asked.prefill is not None and asked.decode:
        raise BadValue("`prefill` and `decode` are two phases; ask for one at a time")
    if asked.prefill is not None or asked.decode:
        short = {"phase": "prefill", "seq": asked.prefill} if asked.prefill is not None else {"phase": "decode"}
        twice = [name for name in short if name in chosen]
        if twice:
            raise BadValue(f"`{'decode' if asked.decode else 'prefill'}` and `{twice[0]}` say the same thing; leave one of them out")
        chosen |= short
    return chosen
