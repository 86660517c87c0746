"""What `ironlaw serve` does: the load that it draws, the ways to serve that it tries, and the rows of its answer."""
