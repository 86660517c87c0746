"""Act II: more workers, less serial work, and what both cost."""

from ironlaw.labs.lab_12_amdahl.act2 import challenge, instrument, local_runs, slots

__all__ = ["challenge", "instrument", "local_runs", "slots"]
