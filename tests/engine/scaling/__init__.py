"""Tests of how much faster the whole gets."""
