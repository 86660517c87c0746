"""What changes of a training step are called: waits for the device left out, BF16 under autocast, FP16 under autocast with scaled
gradients, an optimiser that takes its tensors in lists or in one kernel, nothing checkpointed, one microbatch in place of several,
attention without a mask tensor, the loss in parts, blocks that run again on the way back, several devices."""

from __future__ import annotations

SYNCS, AUTOCAST, SCALED, LISTS, FUSED, KEPT, TOGETHER, FLASH, CHUNKED, AGAIN, DEVICES, SHARDED = (
    "syncs", "autocast", "scaled", "lists", "fused", "kept", "together", "flash", "chunked", "again", "devices", "sharded",
)  # fmt: skip
