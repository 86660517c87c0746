"""What torch.compile's Inductor fuses, on any device: it writes loops of its own and leaves products to libraries."""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.device.compiler_rules import Rules

INDUCTOR = Rules(epilogue=False, horizontal=False)
TRITON = replace(INDUCTOR, recompute=True)  # on a GPU; on a processor it stores more, but how much was never measured
WRITTEN = ("elementwise", "rowwise", "reduction", "movement")  # categories whose kernels the compiler writes itself
