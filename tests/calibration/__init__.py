"""Tests of rows, curves and fits."""
