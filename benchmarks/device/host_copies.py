"""Copies between a GPU and its host: pinned and pageable memory, both ways, and to memory allocated for each copy, 4 KiB to 1 GiB.

    PYTHONPATH=src python3 benchmarks/device/host_copies.py --out DIR

Writes DIR/host_copies.json. Without a GPU the copies go from memory to memory, to try the program.
"""

import argparse

import torch
from gpu import clock, write

METHOD = (
    "One tensor of bytes copied between host and device by copy_(non_blocking=True); the host's is pinned (page-locked) or pageable; "
    "fresh: tensor.cpu(), whose result is dropped when the next is there. "
    "wall_s: median of synchronised copies; piped_s: queued back to back. The first copy of each case is not counted."
)
CUDA = torch.cuda.is_available()
SIZES = [4**power << 10 for power in range(1, 11)] if CUDA else [4096, 65536]  # 4 KiB to 1 GiB


def row(size, direction, host):
    there = torch.zeros(size, dtype=torch.int8, device="cuda" if CUDA else "cpu")
    here = torch.zeros(size, dtype=torch.int8, pin_memory=CUDA and host == "pinned")
    target, source = (there, here) if direction == "to_device" else (here, there)
    kept = []

    def fresh():
        kept[:] = [there.cpu()]

    wall, piped = clock(fresh if host == "fresh" else lambda: target.copy_(source, non_blocking=True))
    params = {"bytes": size, "direction": direction, "host": host, "dtype": "int8"}
    return {"kind": "function", "name": "host_copy", "params": params, "mode": "eager", "wall_s": wall, "piped_s": piped}


def main():
    parser = argparse.ArgumentParser(description=METHOD)
    parser.add_argument("--out", required=True)
    out = parser.parse_args().out
    rows = []
    ways = [(host, direction) for host in ("pinned", "pageable") for direction in ("to_device", "to_host")]
    for host, direction in [*ways, ("fresh", "to_host")]:
        for size in SIZES:
            rows.append(row(size, direction, host))
            print(host, direction, size, f"{size / rows[-1]['piped_s'] / 1e9:.2f} GB/s", flush=True)
    write(f"{out}/host_copies.json", METHOD, rows)


if __name__ == "__main__":
    main()
