"""What a lab can measure on the machine of whoever reads it."""
