"""Lab V2-06, Steps and Bytes: which algorithm for which message, and buckets behind a backward pass."""
