"""Pure physics. Standard library only: no files, no clock, no printing."""
