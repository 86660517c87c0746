"""Differential privacy: what noise at every step leaves of a budget (ε, δ), and who can prove how much."""
