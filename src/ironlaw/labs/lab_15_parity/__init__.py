"""Lab 15: rates by group, which of them can be equal together, and what a rule costs."""
