"""GPU kernels of our own, in Triton: what one pass over memory can do where a compiler falls short, and two to learn from.

    norm_dropout_relu   LayerNorm → Dropout → ReLU: reads the tensor once, writes it once
    softmax             a row at a time, in registers: one read, one write instead of five passes
    attention           naive (the scores go through memory) beside tiled (they never leave the chip)

Each file says what it moves, counted before it is measured. They need a CUDA device and Triton (it comes with PyTorch's CUDA build).
"""

from __future__ import annotations

from ironlaw.errors import BadValue


def need() -> None:
    """Refuse where these kernels can't run, and say what would help."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise BadValue(
            f"these kernels need PyTorch and Triton ({error}); on a machine with an NVIDIA GPU: pip install torch triton"
        ) from None
    if not torch.cuda.is_available():
        raise BadValue("these kernels need a CUDA device and PyTorch sees none; run them on a machine with an NVIDIA GPU")
