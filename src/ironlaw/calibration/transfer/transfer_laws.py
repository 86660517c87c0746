"""Constants of all families, and a kernel's time by them: (data, compute, both as they overlap) in seconds, its floor left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.backends.kernel import Kernel
from ironlaw.calibration.transfer import attention_law, product_law, stream_law, transfer_rows
from ironlaw.calibration.transfer.chip_traits import Chip, group
from ironlaw.calibration.transfer.power import sustained
from ironlaw.calibration.transfer.size_law import attention_sizes, heavy, product_sizes, winograd_sizes
from ironlaw.engine.arrays import Number, maximum
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import FORMATS, Op

Parts = tuple[Number, Number, Number]
TILES = {
    "fp32": ((128, 128), (128, 64), (64, 64), (64, 32), (32, 32)),
    "narrow": ((256, 128), (128, 128), (128, 64), (64, 64), (64, 32), (64, 16)),
}
PRODUCTS = ("linear", "bmm", "conv")
FORMAT_OF = {"fp32": "fp32", "16bit": "fp16", "fp8": "fp8"}  # by how a family's name ends
MOST = "NVIDIA"  # the group that every family has rows of
FILTERING = ("16nm", "12nm")  # whose libraries' FP32 convolutions were seen to be Winograd's; an H200's 3×3 ones are no faster than others
UNLIKE = 1.5  # how many times as unsure on machines of a group that the family has no rows of
NEWER = 1.25  # how many times as unsure on a process node that the family has no rows of


@dataclass(frozen=True)
class Laws:
    """What `benchmarks/transfer.py` found: constants by family, how far off each was on machines left out, and where rows came from."""

    constants: Mapping[str, Mapping[str, float]]
    groups: Mapping[str, Mapping[str, float]]  # family -> group of machines -> sd of log(measured / predicted), left out
    seen_groups: Mapping[str, Mapping[str, float]]  # the same where a machine's bandwidth and rate of products were measured
    nodes: Mapping[str, tuple[str, ...]]
    watts: Mapping[str, Mapping[str, float]]
    sources: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Laws:
        found = data["families"]
        return cls(
            {name: one["constants"] for name, one in found.items()},
            {name: {who: judged["sd"] for who, judged in one["groups"].items()} for name, one in found.items()},
            {name: {who: judged["sd"] for who, judged in one["two_figures"]["groups"].items()} for name, one in found.items()},
            {name: tuple(one["nodes"]) for name, one in found.items()},
            data["watts"],
            tuple(data["sources"].values()),
        )

    @property
    def streaming(self) -> stream_law.StreamConstants:
        return stream_constants(self.constants["stream"])

    def sd(self, family: str, chip: Chip) -> float:
        """The sd of log(measured / predicted) for machines like this one when they were left out."""
        judged = self.seen_groups[family] if helps(family, chip) else self.groups[family]
        own = judged.get(group(chip)) or UNLIKE * judged.get(chip.maker, judged[MOST])
        if chip.maker != MOST:  # too few machines of its make to be judged by them alone
            own = max(own, UNLIKE * judged[MOST])
        if chip.throttles:
            own = max(own, judged.get(chip.maker, 0.0))
        return own * (1.0 if chip.node in self.nodes[family] else NEWER)

    def seconds(self, family: str, kernel: Kernel, op: Op, chip: Chip, fmt: str, reached: float = 0.0, stepwise: bool = True) -> Parts:
        """`reached`: the share of its peak that large products hold at least, where power allows it. `stepwise`: whole tiles and waves."""
        flow = self.streaming
        if family == "stream":
            return _stream(kernel, chip, flow)
        c, gets = self.constants[family], stream_law.bandwidth(chip, flow)
        if family in ("layer_norm", "softmax", "softmax_block"):
            main = heavy(op)
            own, size = transfer_rows.RowConstants(**c), FORMATS[(main.inputs or main.outputs)[0].dtype]  # what only writes has no input
            count = maximum(points(kernel.rows), 1.0)
            return transfer_rows.rows_s(count, points(kernel.data) / (2.0 * size * count), size, chip, own, gets)
        if family == "attention":
            heads, _, queries, keys, d = attention_sizes(op)
            tiled, causal = attention_law.PrefillConstants(**c), bool(heavy(op).attrs.get("causal"))
            return attention_law.prefill_s(heads, queries, keys, d, causal, points(kernel.data), chip, fmt, tiled, gets)
        if family == "attention_decode":
            heads, groups, _, keys, _ = attention_sizes(op)
            decode = attention_law.DecodeConstants(**c)
            return attention_law.decode_s(heads, groups, keys, points(kernel.data), chip, decode, gets)
        own_product = product_constants(c, TILES["fp32" if family.endswith("fp32") else "narrow"], chip)
        share = sustained(chip, fmt, max(own_product.share, reached), self.watts)
        sizes = product_sizes(op, kernel)
        direct = product_law.product_s(sizes, points(kernel.data), chip, fmt, own_product, gets, share, stepwise)
        image = winograd_sizes(op) if family == "conv_fp32" and chip.node in FILTERING else None
        if image is None:
            return direct
        return product_law.sooner(direct, product_law.winograd_s(image, points(kernel.data), chip, own_product, gets, share))


def helps(family: str, chip: Chip) -> bool:
    """Whether one of the chip's measured rates says something of a family."""
    if family.startswith(PRODUCTS):
        return chip.reached(FORMAT_OF[family.rpartition("_")[2]]) is not None
    return "bandwidth" in chip.achieved


def _stream(kernel: Kernel, chip: Chip, flow: stream_law.StreamConstants) -> tuple[Number, Number, Number]:
    data = points(kernel.data)
    seconds = stream_law.stream_s(data, chip, flow)
    return seconds, 0.0 * seconds, seconds


def stream_constants(c: Mapping[str, float]) -> stream_law.StreamConstants:
    return stream_law.StreamConstants({"HBM": c["HBM"], "GDDR": c["GDDR"]}, c["AMD"], c["clocked"], c["p"], c["floor"])


def product_constants(c: Mapping[str, float], tiles: tuple[tuple[int, int], ...], chip: Chip) -> product_law.ProductConstants:
    sized = tuple((float(a), float(b), min(c.get(f"tile_{a}x{b}", 1.0), 1.0)) for a, b in tiles)
    held = c.get("AMD", 1.0) if chip.maker == "AMD" else c.get(f"lanes_{chip.lanes:.0f}", 1.0) * c.get(chip.node, 1.0)
    share, wave = min(c["share"], 1.0) * held, min(c["wave"], 1.0)
    return product_law.ProductConstants(
        sized, share, c["knee"], c["alone"], wave, c["split"], c["memory"], c["p"], c["floor"], c.get("winograd", 1.0)
    )
