"""What a training run leaves free of a device's memory, and for what."""

from __future__ import annotations

FILLED = 0.92  # of a device, unless somebody says otherwise
# Shares of what is left free: premises, not measured. NCCL holds buffers of 4 MiB for each channel of each group (NCCL_BUFFSIZE), some
# hundred MiB for every kind of parallelism; cuBLAS and attention hold workspaces (32 MiB per stream on Hopper); the rest is what an
# allocator can't use between pieces of other sizes.
SHARES = {"nccl": 0.25, "workspaces": 0.125, "fragmentation": 0.625}


def reserves(usable: float, filled: float) -> dict[str, float]:
    """Bytes left free of `usable` ones, by what they are for."""
    return {name: share * (1.0 - filled) * usable for name, share in SHARES.items()}
