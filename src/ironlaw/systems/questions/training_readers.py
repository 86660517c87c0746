"""What people write about a training run: tokens of a step, a layout, the software that trains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ironlaw.errors import BadValue, unknown
from ironlaw.registry.stacks import stack

PREFIXES = {"": 1, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30}  # 16 M tokens per step are 2²⁴, as publications count them
KEYS = {
    "tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert", "v": "virtual", "micro": "micro", "zero": "zero",
    "recompute": "recompute", "hsdp": "replicate",
}  # fmt: skip


def read_tokens(value: Any) -> int:
    """`4M` -> 4 · 2²⁰."""
    match = re.fullmatch(r"\s*([\d_,]+)\s*([kKMG]?)\s*", str(value))
    count = int(re.sub("[_,]", "", match[1])) * PREFIXES[match[2]] if match and match[1].strip("_,") else 0
    if not 0 < count <= 2**40:
        raise BadValue(f"{value!r} is not a number of tokens; write one such as 4M (4 · 2²⁰) or 4194304")
    return count


def read_stack(name: str) -> str:
    return stack(name).slug


def read_layout(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """`tp=8,pp=4`, or a mapping -> fields of a layout."""
    if isinstance(given, Mapping):
        short = {field: key for key, field in KEYS.items()}
        given = ",".join(f"{short.get(key, key)}={value}" for key, value in given.items())
    found: dict[str, Any] = {}
    for entry in filter(None, (part.strip() for part in given.split(","))):
        key, _, value = entry.partition("=")
        if key not in KEYS:
            raise unknown("part of a layout", key, KEYS)
        if key != "recompute" and not value.isdigit():
            raise BadValue(f"{entry!r} has no whole number; write it as {key}=8")
        if KEYS[key] in found:
            raise BadValue(f"{key} appears twice; give it once")
        found[KEYS[key]] = value if key == "recompute" else int(value)
    if not found:
        raise BadValue("the layout is empty; write one such as tp=8,pp=4, or leave `layout` out to try all")
    return found
