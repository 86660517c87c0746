"""A model served: where it fits, what its steps take, what requests of a trace get from it."""
