"""A decoder as a list of blocks, each made of the same few parts, whatever its architecture is called."""
