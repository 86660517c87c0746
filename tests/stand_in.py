"""A value of a test's own in an expression, which reads attributes of ironlaw's own values alone."""

from types import SimpleNamespace


class StandIn(SimpleNamespace):
    __module__ = "ironlaw.stand_in"
