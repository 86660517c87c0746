"""Lab 07: what a launch costs, what fusing saves, and when compiling pays."""
