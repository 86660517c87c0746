"""Lab 01: the gap between deployment regimes, and which term of the Iron Law is the bottleneck."""
