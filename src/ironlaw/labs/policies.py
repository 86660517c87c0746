"""What a free server takes: policies of batching, in words."""

POLICIES = {"one": "one by one", "fixed": "full batches", "waiting": "what waits", "timeout": "what waits, or a timeout"}
