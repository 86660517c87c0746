"""Whole models: built with random weights, run, timed and profiled."""
