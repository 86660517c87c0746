"""Tests of rates by group and of decision rules."""
