"""What measuring teaches about a machine: typed rows of evidence, the curves fitted to them, and an op's cost by those curves."""
