"""PyTorch -> Graph on fake tensors: nothing is run, no weight is made, no GPU is needed."""

from ironlaw.tracing.capture import capture

__all__ = ["capture"]
