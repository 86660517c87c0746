"""The review without a screen: cards and their variants, grading, schedule, calibration, beliefs, concepts, checklist, the fusion tree.

Nothing here prints or asks for the time: front ends hand in the ledger and the clock.
"""
