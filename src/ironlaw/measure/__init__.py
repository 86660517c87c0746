"""Clocks, microbenchmarks and runs of models: what this machine takes, as evidence.

PyTorch and NumPy are imported inside functions only, and neither is needed to import this room: `ironlaw measure` says what is missing.
"""
