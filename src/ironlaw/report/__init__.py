"""The report of `ironlaw analyze`: one HTML file that opens from disk, and a trace's measurements compared with the prediction."""
