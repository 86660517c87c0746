"""Lab 13: what two counters say about waiting, and what a server that batches does to it."""
