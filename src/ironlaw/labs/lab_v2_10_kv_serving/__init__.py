"""Lab V2-10: how many conversations fit, and what the next one costs the others."""
