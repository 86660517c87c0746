"""Data and its loaders: machines, hosts, wires, models, prices, published tables, evidence. A folder listing is the registry."""
