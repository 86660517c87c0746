"""Tests of one device: hand counts and independent references."""
