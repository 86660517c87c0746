"""Tests of the backends: kernels against traces and hand counts."""
