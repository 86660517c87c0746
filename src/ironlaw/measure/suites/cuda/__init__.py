"""The wide sweep of a GPU under CUDA."""
