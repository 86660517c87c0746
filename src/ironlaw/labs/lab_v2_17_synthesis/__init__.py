"""Lab V2-17, One System, One Budget."""
