"""Many devices: links and boxes, fabrics, collectives, layouts of parallel training, failures and checkpoints."""
