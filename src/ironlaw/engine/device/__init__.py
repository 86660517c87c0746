"""One device: a graph of operators, what each asks of the machine, and how long the whole takes."""
