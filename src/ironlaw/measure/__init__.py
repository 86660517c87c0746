"""Clocks, microbenchmarks and runs of models: what this machine takes, as evidence.

    progress, clock, noise      time a call, say how far the run is, notice others at work
    rows                        rows of evidence, a function for each kind
    host, evidence_file         what the machine is; files of rows
    devices/                    what to measure with: a library on a kind of device
    suites/                     wide sweeps: many ops over many shapes
    machine/                    the machine as a whole: `ironlaw measure`
    models/                     whole models: `ironlaw measure TARGET`
    kernels/                    kernels of our own, beside PyTorch's
    experiments/                what a lab measures

Imports go one way: experiments → models | machine | suites | kernels → devices → host | evidence_file → clock | noise → progress | rows.
Neither PyTorch nor NumPy is needed to import any of it, and `ironlaw measure` says what is missing: they are imported inside functions, or
by files that are themselves imported inside functions.
"""
