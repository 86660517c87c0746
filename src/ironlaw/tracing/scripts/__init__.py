"""A script as it is, run up to the end of a training step on tensors that hold no data and a GPU that is pretended."""
