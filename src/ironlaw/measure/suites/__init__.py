"""The wide sweeps: many ops over many shapes, so that each kind of kernel gets a curve of its own."""
