"""What to measure with: NumPy on a processor, and PyTorch on a processor, on CUDA and on MPS. Each is a subclass of `Device`."""
