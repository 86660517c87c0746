"""Act II: retries, copies and replicas, through a spike."""

from ironlaw.labs.lab_v2_12_slo.act2 import instrument, slots

__all__ = ["instrument", "slots"]
