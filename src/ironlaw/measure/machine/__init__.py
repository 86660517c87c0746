"""This machine as a whole, as `ironlaw measure` finds it: measured part by part, read as a datasheet, and stored."""
