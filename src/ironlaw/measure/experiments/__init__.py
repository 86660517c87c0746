"""What a lab can measure on its reader's machine."""
