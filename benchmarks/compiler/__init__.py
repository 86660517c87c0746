"""torch.compile as far as Inductor's scheduler, on fake tensors of a GPU that need not be there: which kernels it would run, in order."""
