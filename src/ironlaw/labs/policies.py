"""What a server picks up when it is free: policies of batching, in words."""

POLICIES = {"one": "one request", "fixed": "a full batch", "waiting": "everyone waiting", "timeout": "everyone waiting, or times out"}
