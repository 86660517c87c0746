"""Decisions about groups: the rates of a 2 × 2 table, what equal rates force, score curves, and rules with what they cost."""
