"""Every model that builds without weights, and what their operators look like."""
