"""Lab V2-05, More GPUs, Less of Each."""
