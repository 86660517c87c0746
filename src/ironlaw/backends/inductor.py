"""What torch.compile's Inductor fuses, on any device: it writes loops of its own and leaves products to libraries."""

from __future__ import annotations

from ironlaw.engine.device.fusion_rules import Rules

INDUCTOR = Rules(epilogue=False, horizontal=False, recompute=True)
WRITTEN = ("elementwise", "rowwise", "reduction", "movement")  # categories whose kernels the compiler writes itself
