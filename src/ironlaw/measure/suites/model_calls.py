"""A model's own calls made again, each alone: what `ironlaw.tracing.op_calls` wrote down, on tensors with memory.

Weights come from copies that together outgrow the last cache, taken in turn, since a model runs one layer after another; what an op was
handed by the op before lies where the last call left it. Numbers are random on a GPU, whose power depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import cycle
from math import ceil, prod
from typing import Any

from ironlaw.measure.devices.device import Call, Unsupported
from ironlaw.measure.devices.torch_device import TorchDevice

COPIES = 256  # of a call's weights, at the most
OUTGROWS = 2.0  # times the last cache
LAST = 2**25  # bytes of a last cache that the system does not report
TABLES: Mapping[str, int] = {"embedding": 0, "gather": -1, "index_select": -1, "scatter": -1, "scatter_add": -1, "index_add": -1}
BY_PLACE = ("index", "index_put", "_unsafe_index", "_unsafe_index_put")  # their second argument has an index for each dimension


class Operands:
    """Tensors for one call. `bounds`: what whole numbers must stay below, by the sizes of the tensor that holds them."""

    def __init__(self, device: TorchDevice, bound: int, signed: bool) -> None:
        self.device, self.torch, self.bound, self.signed = device, device.torch, bound, signed
        self.storages: dict[int, Any] = {}

    def extents(self, leaves: list[Any]) -> dict[int, tuple[int, int]]:
        """The first and the last element of each storage that the call touches."""
        found: dict[int, tuple[int, int]] = {}
        for shape, strides, _, _, place, offset in leaves:
            end = offset + 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if prod(shape) else offset
            low, high = found.get(place, (offset, end))
            found[place] = (min(low, offset), max(high, end))
        return found

    def filled(self, count: int, dtype: Any) -> Any:
        torch, where = self.torch, self.device.NAME
        if dtype == torch.bool:
            return torch.ones(count, dtype=dtype, device=where)
        if not (dtype.is_floating_point or dtype.is_complex):
            return torch.randint(max(self.bound, 1), (count,), device=where).to(dtype)
        if self.device.kind.on_host and not dtype.is_complex:
            return torch.full((count,), 0.5, dtype=torch.float32, device=where).to(dtype)
        drawn = torch.randn if self.signed else torch.rand
        return drawn(count, dtype=dtype if dtype.is_complex else torch.float32, device=where).to(dtype)


def prepare(device: TorchDevice, call: Mapping[str, Any], signed: bool = False) -> Call:
    """The call, its inputs made. `signed`: whether numbers may be below zero, as in products. What can't be called here is Unsupported."""
    function = function_of(device.torch, call["func"])
    leaves = list(_leaves((call["args"], call["kwargs"])))
    if any(value[3] == "cache" for value in leaves) and call["func"].startswith("ironlaw."):
        raise Unsupported("attention over a cache")
    operands = Operands(device, _bound(call), signed)
    extents = operands.extents(leaves)
    sizes = {place: (high - low) * _width(device.torch, leaves, place) for place, (low, high) in extents.items()}
    if 2.0 * sum(sizes.values()) > device.free_memory():
        raise Unsupported("too large for the memory that is free here")
    weights = {leaf[4] for leaf in leaves if leaf[3] == "weight"}
    cold = sum(size for place, size in sizes.items() if place in weights)
    last = max(device.caches().values(), default=LAST)
    copies = min(max(ceil(OUTGROWS * last / cold), 1), COPIES) if cold else 1
    turns = [_turn(operands, call, leaves, extents, None if i == 0 else weights) for i in range(copies)]
    if len(turns) == 1:
        args, kwargs = turns[0]
        return lambda: function(*args, **kwargs)
    following = cycle(turns)

    def one() -> Any:
        args, kwargs = next(following)
        return function(*args, **kwargs)

    return one


def function_of(torch: Any, name: str) -> Callable[..., Any]:
    """`aten.addmm.default`, or what capture wrote down as one op: attention, recurrent layers."""
    if name in STAND_INS:
        return STAND_INS[name](torch)
    space, _, rest = name.partition(".")
    try:
        packet, _, overload = rest.rpartition(".")
        return getattr(getattr(getattr(torch.ops, space), packet), overload)  # type: ignore[no-any-return]
    except (AttributeError, RuntimeError):
        raise Unsupported(f"{name} is not a function of PyTorch's here") from None


def _turn(operands: Operands, call: Any, leaves: list[Any], extents: Mapping[int, Any], fresh: set[int] | None) -> tuple[Any, Any]:
    """Arguments with memory; of a further turn only those in `fresh` are new."""
    torch = operands.torch
    for place, (low, high) in extents.items():
        if fresh is None or place in fresh:
            dtype = next(getattr(torch, leaf[2]) for leaf in leaves if leaf[4] == place)
            operands.storages[place] = operands.filled(high - low, dtype)

    def made(value: Any) -> Any:
        if isinstance(value, list):
            return [made(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "device" in value:
            return operands.device.NAME
        if "torch" in value:
            return getattr(torch, value["torch"])
        shape, strides, name, _, place, offset = value["tensor"]
        storage = operands.storages[place]
        there = storage if str(storage.dtype) == f"torch.{name}" else storage.view(getattr(torch, name))
        return there.as_strided(shape, strides, offset - extents[place][0])

    return made(call["args"]), {name: made(value) for name, value in call["kwargs"].items()}


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if "tensor" in value:
            yield value["tensor"]
        else:
            for each in value.values():
                yield from _leaves(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)


def _width(torch: Any, leaves: list[Any], place: int) -> int:
    return next(int(getattr(torch, leaf[2]).itemsize) for leaf in leaves if leaf[4] == place)


def _bound(call: Mapping[str, Any]) -> int:
    """Below which whole numbers must stay: they may be places in a table. Without one they are zeros."""
    name, args = call["func"].split(".")[1].rstrip("_"), call["args"]
    tensor = args[0]["tensor"] if args and isinstance(args[0], dict) and "tensor" in args[0] else None
    if tensor is None or not tensor[0]:
        return 1
    if name in BY_PLACE:
        return min((tensor[0][i] for i, each in enumerate(args[1]) if each is not None), default=1)
    if name not in TABLES:
        return 1
    return int(tensor[0][0 if name == "embedding" else args[1]])


# ---- what a GPU runs as one kernel, and capture writes down as one op


def _attention(torch: Any) -> Callable[..., Any]:
    attend = torch.nn.functional.scaled_dot_product_attention

    def call(q: Any, k: Any, v: Any, mask: Any, causal: bool, traced: str, grouped: bool) -> Any:
        return attend(q, k, v, mask, 0.0, causal, **({"enable_gqa": True} if grouped else {}))

    return call


def _recurrent(torch: Any) -> Callable[..., Any]:
    run = {"lstm": torch.lstm, "gru": torch.gru, "rnn": torch.rnn_tanh}

    def call(x: Any, weights: list[Any], cell: str, hidden: int, layers: int, directions: int) -> Any:
        state = torch.zeros(layers * directions, x.shape[1], hidden, dtype=x.dtype, device=x.device)
        biased = len(weights) == 4 * layers * directions
        return run[cell](x, (state, state) if cell == "lstm" else state, weights, biased, layers, 0.0, False, directions == 2, False)

    return call


def _rms_norm(torch: Any) -> Callable[..., Any]:
    return torch.nn.functional.rms_norm  # type: ignore[no-any-return]


STAND_INS = {
    "ironlaw.attention.default": _attention, "ironlaw.recurrent.default": _recurrent, "ironlaw.rms_norm.default": _rms_norm,
}  # fmt: skip
