"""Lab 12: how much faster the whole gets, by its parts and by its workers."""
