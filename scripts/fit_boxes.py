"""Fit each box's two numbers, start and bus bandwidth, to rows of collectives that others timed; print how far off they are.

python scripts/fit_boxes.py NCCL.csv ALL_REDUCE.csv            print
python scripts/fit_boxes.py NCCL.csv ALL_REDUCE.csv --write    and put the numbers into registry/box

NCCL.csv: gpu, op_name, nccl_dtype, num_gpus, message_size (elements), latency (ms), as ai-dynamo/aiconfigurator has them (Apache-2.0).
ALL_REDUCE.csv: box, gpus, gpus_per_node, bytes, median_ms, as made from microsoft/vidur@7d47513 (MIT).
The rows stay where they are; the project keeps the two numbers. Every second size is held out of the fit. Rows under 1 MB are left out:
there a library changes its protocol.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ironlaw.engine.cluster.collectives import bus_factor
from ironlaw.engine.cluster.library import collective, switch_adds, switch_factor
from ironlaw.engine.cluster.links import Box
from ironlaw.registry.boxes import box
from ironlaw.registry.loader import folder

SMALLEST = 1e6
LIBRARY_START = 8.4e-6  # of NCCL 2.28.7's ring, Simple protocol, before any hop: what stands for a box without rows
BOXES = {
    "a100_sxm": "dgx_a100", "h100_sxm": "dgx_h100", "h200_sxm": "dgx_h200", "gb200": "gb200_nvl72",
    "a100_pairwise_nvlink": "a100_pairs", "h100_pairwise_nvlink": "h100_pairs", "a100_dgx": "dgx_a100", "h100_dgx": "dgx_h100",
}  # fmt: skip
CHECKED = ("a100_dgx", "h100_dgx")  # boxes that other rows are fitted to: another cluster, an older library
KINDS = {"alltoall": "all_to_all"}
WIDTHS = {"half": 2, "int8": 1}
SOURCE = {
    "nccl": "fitted by scripts/fit_boxes.py to collectives of 1 MB and more in ai-dynamo/aiconfigurator (Apache-2.0), {rows} rows",
    "pairs": "fitted by scripts/fit_boxes.py to all-reduces of 1 MB and more in microsoft/vidur@7d47513 (MIT), {rows} rows",
}
SEEN = "2026-11"


@dataclass(frozen=True, slots=True)
class Timed:
    """One row: a collective of so many bytes over devices of one box."""

    group: str
    kind: str
    ranks: int
    size: float
    seconds: float
    floats: bool = True  # which a switch can add


def nccl_rows(path: Path) -> Iterator[Timed]:
    for row in csv.DictReader(path.open()):
        size = int(row["message_size"]) * WIDTHS[row["nccl_dtype"]]
        kind = KINDS.get(row["op_name"], row["op_name"])
        yield Timed(row["gpu"], kind, int(row["num_gpus"]), size, float(row["latency"]) / 1e3, row["nccl_dtype"] == "half")


def all_reduce_rows(path: Path) -> Iterator[Timed]:
    for row in csv.DictReader(path.open()):
        if row["gpus"] == row["gpus_per_node"]:
            yield Timed(row["box"], "all_reduce", int(row["gpus"]), int(row["bytes"]), float(row["median_ms"]) / 1e3)


def errors(at: Box, rows: Sequence[Timed]) -> list[float]:
    return [predicted(at, row) / row.seconds - 1 for row in rows]


def predicted(at: Box, row: Timed) -> float:
    return float(collective(at, row.kind, row.ranks, row.size, floats=row.floats))


def mean_error(at: Box, rows: Sequence[Timed]) -> float:
    return sum(map(abs, errors(at, rows))) / len(rows)


def fit(at: Box, rows: Sequence[Timed]) -> Box:
    """The start and bus bandwidth of the least mean error; the bandwidth stays within one direction of the link."""
    limit = at.link.per_direction if at.link else math.inf
    best = replace(at, start=LIBRARY_START, bus=min(limit, at.link.achieved if at.link else limit))
    step = 2.0
    while step > 1.002:
        near = [
            replace(best, start=best.start * step**i, bus=min(limit, best.bus * step ** (j / 4))) for i in (-1, 0, 1) for j in (-1, 0, 1)
        ]
        better = min(near, key=lambda one: mean_error(one, rows))
        step = step if mean_error(better, rows) < mean_error(best, rows) else math.sqrt(step)
        best = min((best, better), key=lambda one: mean_error(one, rows))
    return best


def halves(rows: Sequence[Timed]) -> tuple[list[Timed], list[Timed]]:
    """Rows to fit and rows held out: every second size."""
    sizes = {size: i for i, size in enumerate(sorted({row.size for row in rows}))}
    return [r for r in rows if sizes[r.size] % 2 == 0], [r for r in rows if sizes[r.size] % 2]


def beyond_wire(at: Box, rows: Sequence[Timed]) -> int:
    """Predictions that would need more than the link is built for."""
    limit = at.link.per_direction if at.link else math.inf
    return sum(least_bytes(at, row) / predicted(at, row) > limit for row in rows)


def least_bytes(at: Box, row: Timed) -> float:
    """Bytes that a wire must carry, by the ring or where the switch adds."""
    ring = bus_factor(row.kind, row.ranks)
    adds = row.floats and switch_adds(at, row.kind, row.ranks)
    return row.size * (min(ring, switch_factor(row.ranks)) if adds else ring)


def write(at: Box, source: str, alone: float, opened: float, held: float) -> None:
    path = folder("box") / f"{at.slug}.toml"
    text = re.sub(r"\n\[(start|bus|fit)\][^\n]*\n(?:.+\n)+", "", path.read_text()).rstrip() + "\n"
    for key, value in (("start", f"{at.start * 1e6:.3g} us"), ("bus", f"{at.bus / 1e9:.4g} GB/s")):
        text += f'\n[{key}]\nvalue = "{value}"\nsource = "{source}"\ndate = "{SEEN}"\n'
    text += "\n[fit] # mean errors: the registry's figures alone, rows that were fitted, rows that were held out\n"
    text += f"alone = {alone:.3f}\nopened = {opened:.3f}\nheld_out = {held:.3f}\n"
    path.write_text(text)


def main(arguments: Sequence[str]) -> None:
    paths = [Path(a) for a in arguments if not a.startswith("--")]
    if len(paths) != 2:
        raise SystemExit(__doc__)
    rows = [row for row in (*nccl_rows(paths[0]), *all_reduce_rows(paths[1])) if row.size >= SMALLEST]
    print("| box | rows | start | bus | alone | fitted | held out | worst |\n|---|---|---|---|---|---|---|---|")
    for group in dict.fromkeys(row.group for row in rows):
        slug, mine = BOXES[group], [row for row in rows if row.group == group]
        opened, held = halves(mine)
        bare = replace(box(slug), start=LIBRARY_START, bus=0.0)
        at = box(slug) if group in CHECKED else fit(bare, opened)
        worst = max(map(abs, errors(at, mine)))
        shares = [mean_error(bare, mine), mean_error(at, opened), mean_error(at, held)]
        if beyond_wire(at, mine):
            raise SystemExit(f"{slug}: {beyond_wire(at, mine)} predictions are faster than the link")
        print(
            f"| `{slug}` ({group}) | {len(mine)} | {at.start * 1e6:.3g} µs | {at.bus / 1e9:.4g} GB/s |",
            " | ".join(f"{100 * share:.1f}%" for share in (*shares, worst)), "|",
        )  # fmt: skip
        if "--write" in arguments and group not in CHECKED:
            write(at, SOURCE["pairs" if "pair" in group else "nccl"].format(rows=len(opened)), *shares)


if __name__ == "__main__":
    main(sys.argv[1:])
