"""Act II: what is worth having, and does it run faster?"""

from ironlaw.labs.lab_10_frontier.act2 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
