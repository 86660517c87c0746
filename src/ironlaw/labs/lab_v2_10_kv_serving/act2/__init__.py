"""Act II: a server behind a promise, step by step."""

from ironlaw.labs.lab_v2_10_kv_serving.act2 import instrument, slots

__all__ = ["instrument", "slots"]
