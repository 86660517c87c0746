"""Lab V2-17, One system, one budget."""
