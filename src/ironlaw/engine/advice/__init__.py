"""What a changed program would gain: the change itself, and how sure the ratio of two predictions is."""
