"""The digit classifier as a file and as a run: its bytes by format, and its time by the Iron Law on a device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from ironlaw.engine.device.iron_law import Terms, iron_law
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.numerics.storage import bitmap_bytes, csr_bytes
from ironlaw.registry.compression_tables import BITS, SHARES, Squeezed
from ironlaw.registry.compression_tables import reader as answers
from ironlaw.systems.fields import among

IMAGE, DIGITS = 64, 10
WIDTHS = {"mlp": 1, "half": 2, "quarter": 4, "eighth": 8}
NETS = {
    "mlp": "full width", "half": "half", "quarter": "a quarter", "eighth": "an eighth", "half_distilled": "half, distilled",
    "quarter_distilled": "a quarter, distilled", "eighth_distilled": "an eighth, distilled",
}  # fmt: skip
SCALES = {"tensor": "one per tensor", "channel": "one per channel", "32": "one per 32 weights"}
DENSE, SPARSE = "dense", ("csr32", "csr8", "bitmap")
ZEROS = {DENSE: "in place", "csr32": "left out, 32-bit columns", "csr8": "left out, 8-bit columns", "bitmap": "left out, a bitmap"}
KERNELS = {"plain": "plain product", "int8": "INT8 product", "sparse": "sparse product"}
SCALE_BYTES, BIAS_BYTES, GROUP = 2, 4, 32


@cache
def layers(net: str) -> tuple[tuple[int, int], ...]:
    """(inputs, outputs) of each."""
    divisor = WIDTHS[net.removesuffix("_distilled")]
    sizes = (IMAGE, 256 // divisor, 128 // divisor, DIGITS)
    return tuple(pairwise(sizes))


@dataclass(frozen=True)
class Setting:
    """`share`: of the weights that are zero, in %. `zeros`: how a pruned matrix is stored. `product`: what multiplies it."""

    net: str = among(NETS, "mlp", "Width", dial="select")
    bits: int = among({bits: str(bits) for bits in BITS} | {32: "FP32"}, 32, "Bits per weight")
    scale: str = among(SCALES, "channel", "Scales")
    share: int = among(SHARES, 0, "Weights pruned", shown="{}%")
    zeros: str = among(ZEROS, DENSE, "Zeros are")
    product: str = among(KERNELS, "plain", "Kernel")

    @property
    def name(self) -> str:
        stored = "FP32" if self.bits == 32 else f"{self.bits} bits"
        return f"{NETS[self.net]}, {stored}" + (f", {self.share}% zeros" if self.share else "")

    @property
    def answers(self) -> Squeezed:
        return answers(self.net, self.bits, self.scale, self.share)

    @property
    def stored_sparse(self) -> bool:
        return self.share > 0 and self.zeros in SPARSE

    @property
    def bytes(self) -> float:
        """The bytes of the file: weights as they are stored, scales, biases in FP32."""
        return _file_bytes(self)

    def _layer(self, inputs: int, outputs: int) -> float:
        count = inputs * outputs
        left = count - round(self.share / 100 * count)
        if not self.stored_sparse:
            size = count * self.bits / 8
        elif self.zeros == "bitmap":
            size = bitmap_bytes(count, left, self.bits)
        else:
            size = csr_bytes(outputs, left, self.bits, 32 if self.zeros == "csr32" else 8)
        return float(size) + self._scales(inputs, outputs)

    def _scales(self, inputs: int, outputs: int) -> float:
        if self.bits == 32:
            return 0.0
        scales = {"tensor": 1, "channel": outputs, "32": outputs * -(-inputs // GROUP)}[self.scale]
        return float(SCALE_BYTES * scales)

    def terms(self, machine: Hardware) -> Terms:
        """D/BW, O/R and L of one image. Weights that no kernel can multiply as they are get unpacked first, in a kernel of its own."""
        fmt = plain_format(machine)
        width = machine.level(machine.activations).bandwidth if machine.activations else machine.bandwidth
        unpacks = self.product == "plain" and (self.bits < 32 or self.stored_sparse)
        total = Terms(0.0, 0.0, 0.0)
        for inputs, outputs in layers(self.net):
            count, stored = inputs * outputs, self._layer(inputs, outputs)
            work = 2.0 * (count - round(self.share / 100 * count) if self.product == "sparse" else count)
            rate = machine.rate(fmt, "vector") if self.product == "sparse" else machine.peak("int8" if self.product == "int8" else fmt)
            total += iron_law(stored, work, machine.bandwidth, rate)
            if unpacks:
                total += Terms(2.0 * count * PLAIN_BYTES[fmt] / width, 0.0)
        kernels = len(layers(self.net)) * (2 if unpacks else 1)
        launches = 1 if machine.dispatch == "replayed" else kernels
        return total + Terms(0.0, 0.0, launches * machine.launch)


@cache
def _file_bytes(setting: Setting) -> float:
    return sum(setting._layer(i, o) + BIAS_BYTES * o for i, o in layers(setting.net))


PLAIN_BYTES = {"fp32": 4, "fp16": 2}


def plain_format(machine: Hardware) -> str:
    return "fp32" if "fp32" in machine.peaks else "fp16"


def no_kernel(setting: Setting, machine: Hardware) -> dict[str, str]:
    """Kernels that can't multiply these weights here, and why."""
    reasons = {}
    if setting.stored_sparse:
        reasons["int8"] = "an INT8 product needs every weight in place, and this file leaves the zeros out"
    elif setting.bits > 8:
        reasons["int8"] = "these weights have more than 8 bits"
    elif "int8" not in machine.peaks:
        reasons["int8"] = f"{machine.name} has no unit for INT8"
    if not setting.stored_sparse:
        reasons["sparse"] = "there is nothing sparse to multiply yet; prune some weights and leave the zeros out of the file"
    return reasons
