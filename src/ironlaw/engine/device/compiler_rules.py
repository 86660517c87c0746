"""Which branches of the fusion tree (`fusion_rules`) a compiler takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """What a compiler may do. The tree allows all; a compiler may leave a library's matmuls and convolutions alone."""

    epilogue: bool = True
    horizontal: bool = True
    vertical: bool = True
    recompute: bool = False  # loops of its own: what is cheap is computed again by each reader, and a reduction's loop goes no further


TREE = Rules()
POINTWISE = Rules(epilogue=False, horizontal=False, vertical=False)  # adjacent element-wise ops of one shape, nothing else
