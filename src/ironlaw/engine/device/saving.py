"""In what formats a library saves what the backward pass needs (`work.keeping` says what that is)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Saving:
    """What libraries differ in when they save something for the backward pass; a backend says how its own does."""

    wide: bool = True  # a norm's statistics are FP32 whatever its input is
    byte_masks: bool = True  # a dropout's mask takes a byte per element, not the format of what it masks
    row_tile: int = 32  # attention in FP32 pads the sums of its rows to a multiple


ON_GPU = Saving()
