"""Lab V2-12, What the User Sees."""
