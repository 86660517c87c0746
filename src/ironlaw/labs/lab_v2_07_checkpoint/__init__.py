"""Lab V2-07, How Often to Save."""
