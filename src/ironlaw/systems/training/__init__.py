"""A model trained on many devices: what each computes, what crosses the wires, what a step takes."""
