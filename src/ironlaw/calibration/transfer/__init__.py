"""What kernels take on a machine that nobody measured: physics, the machine's own figures, and constants fitted to other machines."""
