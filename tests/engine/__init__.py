"""Tests of the engine: hand counts and independent references, never the implementation's own formula."""
