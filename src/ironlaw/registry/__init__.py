"""Data, and one loader: machines, workloads, claims, evidence. The folder is the registry."""
