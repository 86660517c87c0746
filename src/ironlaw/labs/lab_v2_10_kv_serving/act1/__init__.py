"""Act I: how many requests a cache holds."""

from ironlaw.labs.lab_v2_10_kv_serving.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
