"""What a training run leaves free of a device's memory, and for what."""

from __future__ import annotations

FILLED = 0.92  # of a device, unless somebody says otherwise
# Shares of what is left free: premises, not measured. NCCL holds buffers of 4 MiB for each channel of each group (NCCL_BUFFSIZE), some
# hundred MiB for every kind of parallelism; cuBLAS and attention hold workspaces (32 MiB per stream on Hopper); the rest is what an
# allocator can't use between pieces of other sizes.
SHARES = {"nccl": 0.25, "workspaces": 0.125, "fragmentation": 0.625}

# The most that PyTorch's allocator reserved in a published run over what we count (docs/cluster.md, "Memory"): 8% of the peak is missing
# without a pipeline, 10% with one, 15% with one and context parallelism. Not fitted; the widest miss of each kind.
RESERVED, WITH_PIPELINE, WITH_BOTH = 1.09, 1.12, 1.17


def reserved_at_most(counted: float, pipeline: int, context: int) -> float:
    """Bytes that an allocator may take from a device for what is `counted`."""
    return counted * (RESERVED if pipeline == 1 else WITH_PIPELINE if context == 1 else WITH_BOTH)


def reserves(usable: float, filled: float) -> dict[str, float]:
    """Bytes left free of `usable` ones, by what they are for."""
    return {name: share * (1.0 - filled) * usable for name, share in SHARES.items()}
