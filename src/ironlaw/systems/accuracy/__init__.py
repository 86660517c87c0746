"""How far predictions are from measurements, and what is fitted to that: curves, intervals, gains."""
