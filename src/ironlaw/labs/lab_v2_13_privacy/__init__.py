"""Lab V2-13: differential privacy, what noise at every step leaves of a budget."""
