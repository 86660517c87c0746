"""Lab 11: the roofline, for one matrix product and for a whole transformer layer."""
