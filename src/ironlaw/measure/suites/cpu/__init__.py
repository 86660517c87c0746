"""The wide sweep of a processor."""
