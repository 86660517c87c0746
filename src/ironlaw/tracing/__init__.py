"""PyTorch -> Graph on fake tensors: nothing is run, no weight is made, no GPU is needed."""

from ironlaw.tracing.capture import capture
from ironlaw.tracing.registered_costs import register_cost

__all__ = ["capture", "register_cost"]
