"""The number formats of the whole project: how wide an element is, and what PyTorch and NumPy call it.

    FORMATS["bf16"].bytes        2.0
    FORMATS["bf16"].torch        "bfloat16"
    of_torch("float8_e5m2")      "fp8"

Names only: neither library is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """`torch`, `numpy`: the dtype that holds it there, by name; empty where the library has none."""

    name: str
    bytes: float  # an element
    torch: str = ""
    numpy: str = ""
    part: str = ""  # of a complex number: the format of its two parts

    def in_torch(self, torch: Any) -> Any:
        """PyTorch's dtype; an AttributeError where it has none, or where this PyTorch is too old for it."""
        if not self.torch:
            raise AttributeError(f"PyTorch has no dtype to compute with in {self.name}")
        return getattr(torch, self.torch)


FORMATS: dict[str, Format] = {
    fmt.name: fmt
    for fmt in (
        Format("fp64", 8.0, "float64", "float64"),
        Format("fp32", 4.0, "float32", "float32"),
        Format("tf32", 4.0, "float32"),  # FP32 in memory; its products round what they read
        Format("bf16", 2.0, "bfloat16"),
        Format("fp16", 2.0, "float16", "float16"),
        Format("fp8", 1.0, "float8_e4m3fn"),
        Format("int8", 1.0, "int8", "int8"),
        Format("fp4", 0.5),
        Format("int4", 0.5),
        Format("int64", 8.0, "int64", "int64"),
        Format("int32", 4.0, "int32", "int32"),
        Format("int16", 2.0, "int16", "int16"),
        Format("bool", 1.0, "bool", "bool"),
        Format("complex64", 8.0, "complex64", "complex64", "fp32"),
        Format("complex128", 16.0, "complex128", "complex128", "fp64"),
    )
}
BYTES: dict[str, float] = {name: fmt.bytes for name, fmt in FORMATS.items()}
PRODUCTS_OF_PARTS = 4.0  # multiply-adds of parts in one of complex numbers, which counters take for one
MODEL_FORMATS = ("fp64", "fp32", "bf16", "fp16")  # that a whole PyTorch model can be turned into

# Further dtypes of PyTorch, each counted as the format that moves as many bytes.
_COUNTED_AS = {"uint8": "int8"} | dict.fromkeys(("float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), "fp8")
_OF_TORCH = {fmt.torch: name for name, fmt in FORMATS.items() if fmt.torch and name != "tf32"} | _COUNTED_AS
_BY_WIDTH = {1: "int8", 2: "int16", 4: "int32"}


# What PyTorch calls its dtypes, its short names too.
_SPELLINGS = {torch: name for torch, name in _OF_TORCH.items() if torch not in _COUNTED_AS} | {
    "double": "fp64", "float": "fp32", "half": "fp16", "float8_e4m3": "fp8", "long": "int64", "int": "int32", "short": "int16",
}  # fmt: skip


def spelled(text: str) -> str:
    """`float64`, `torch.float64`, PyTorch's dtype itself and `double` -> `fp64`; any other text as it is."""
    return _SPELLINGS.get(str(text).removeprefix("torch."), text)


def of_torch(dtype: str, width: int = 8) -> str:
    """The format of PyTorch's dtype, by its name. One that is not listed is taken for an integer of its width in bytes."""
    return _OF_TORCH.get(dtype) or _BY_WIDTH.get(width, "int64")


def is_float(name: str) -> bool:
    """Whether a format holds floating-point numbers, complex ones too."""
    return name.startswith(("fp", "bf", "tf", "complex"))


def computed_in(name: str) -> str:
    """The format that arithmetic is done in: of a complex number, that of its parts."""
    return FORMATS[name].part or name if name in FORMATS else name


def operation(*names: str) -> str:
    """What one operation in these formats is called: `FLOP`, or `OP` as soon as one of them is an integer's."""
    return "FLOP" if all(map(is_float, names)) else "OP"


def rate_unit(*names: str) -> str:
    """What a rate in these formats is counted in: `FLOP/s`, or `OP/s` for integers."""
    return f"{operation(*names)}/s"


def intensity_unit(*names: str) -> str:
    """What the operations per byte in these formats are counted in: `FLOP/B`, or `OP/B` for integers."""
    return f"{operation(*names)}/B"
