"""Lab 14: The Tail."""
