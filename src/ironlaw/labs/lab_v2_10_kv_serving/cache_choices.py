"""What weights and cache may be stored in, and in how large pieces a cache is handed out: dials of both acts."""

from __future__ import annotations

WEIGHTS = {"": "16 bits", "fp8": "FP8", "int4": "INT4"}
CACHES = {"": "16 bits", "fp8": "FP8"}
BLOCKS = {1: "1 token", 16: "16 tokens", 64: "64 tokens", 256: "256 tokens", 0: "all at once: room for the longest"}
