"""Language models behind a promise: what the cache holds, what a step takes, who waits, and how many devices it needs."""
