"""Lab V2-15, Half the Joules."""
