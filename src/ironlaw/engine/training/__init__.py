"""What a training step keeps in memory: weights, gradients, optimiser, what autograd keeps, what passes through."""
