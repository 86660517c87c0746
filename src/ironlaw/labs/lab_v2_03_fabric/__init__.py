"""Lab V2-03: fabrics, and which traffic feels a thin spine."""
