"""The review without a screen: cards and their variants, grading, schedule, confidence, beliefs, concepts, checklist, the fusion tree.

Nothing here prints or reads the clock: front ends pass in the ledger and the time.
"""
