"""The report of `ironlaw analyze`: one HTML file that opens from disk, and what a trace measured beside what was predicted."""
