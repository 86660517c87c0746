"""Lab 10, The Compression Frontier."""
