"""What weights and cache may be stored in, and in how large pieces a cache is handed out: dials of both acts."""

from __future__ import annotations

WEIGHTS = {"": "16 bits", "fp8": "FP8", "int4": "INT4"}
CACHES = {"": "16 bits", "fp8": "FP8"}
BLOCKS = {1: "token by token", 16: "blocks of 16", 64: "blocks of 64", 256: "blocks of 256", 0: "room for the longest request"}
