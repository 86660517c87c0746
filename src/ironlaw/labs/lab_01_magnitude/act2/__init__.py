"""Act II: which term of the Iron Law binds."""

from ironlaw.labs.lab_01_magnitude.act2 import instrument, local_runs, slots, walk_panel

__all__ = ["instrument", "local_runs", "slots", "walk_panel"]
