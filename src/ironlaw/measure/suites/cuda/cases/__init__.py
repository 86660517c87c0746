"""Which ops are measured, at which shapes: one file per subject. The calls are in `calls`, in files of the same names."""
