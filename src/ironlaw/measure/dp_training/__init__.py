"""Training with DP-SGD on small images, many designs at once, and the stored tables of what came out."""
