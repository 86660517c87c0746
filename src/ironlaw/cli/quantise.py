"""`ironlaw quantise`: what fewer bits and fewer weights do to noise and bytes, and which configurations are worth having."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from ironlaw.cli.options import Parser, add_json, checked, size, sizes
from ironlaw.cli.show import draw, quantising
from ironlaw.engine.numerics.frontier import Point, dominated_by, frontier
from ironlaw.engine.numerics.grids import factor_per_bit, levels, noise_power, sqnr_db, step
from ironlaw.engine.numerics.storage import bitmap_bytes, csr_breakeven, csr_bytes, nm_storage, stored_bits
from ironlaw.errors import BadValue, unknown

EXAMPLE = """ironlaw quantise
ironlaw quantise llama3_8b --bits 8,4 --group 128 --zero-bits 16
ironlaw quantise --bits 8 --pruned 90%
ironlaw quantise --frontier llama_cpp_scoreboard"""
BITS = (8, 7, 6, 5, 4, 3, 2)
SCOREBOARD = "llama_cpp_scoreboard"
COLUMNS = ("name", "cost", "harm")
MATRIX = 1024  # rows and columns of the matrix that shares are shown for
PATTERN = (2, 4)


@checked
def share(text: str) -> float:
    """`90%` or `0.9`."""
    try:
        value = float(text.strip().removesuffix("%")) / (100.0 if text.strip().endswith("%") else 1.0)
    except ValueError:
        raise BadValue(f"{text!r} is not a share; write 90% or 0.9") from None
    if not 0.0 <= value < 1.0:
        raise BadValue(f"{text!r} is out of range; give a share from 0% to below 100%")
    return value


def add(parser: Parser) -> None:
    parser.usage = "ironlaw quantise [MODEL] [--bits N,N] [--group N] [--pruned SHARE] [options]\n       ironlaw quantise --frontier TABLE"
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a model of the registry: adds its bytes")
    parser.add_argument("--bits", metavar="N,N", type=sizes, default=BITS, help="bits a weight, 2 to 16: 8,4")
    parser.add_argument("--group", metavar="N", type=size, help="weights that share a scale; without one, a scale is shared by a whole row")
    parser.add_argument("--scale-bits", metavar="N", type=size, default=16, help="bits of a scale (default: 16)")
    parser.add_argument("--zero-bits", metavar="N", type=size, default=0, help="bits of a zero point beside it (default: none)")
    parser.add_argument("--pruned", metavar="SHARE", type=share, help="a share of the weights that is zero: what storing the rest takes")
    parser.add_argument("--frontier", metavar="TABLE", help=f"{SCOREBOARD}, or a CSV file with the columns {', '.join(COLUMNS)}")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.frontier:
        if args.model or args.pruned is not None or args.group or args.bits is not BITS or args.zero_bits:
            raise BadValue("--frontier compares configurations that are measured already; leave the model and all other options out")
        result = compared(_points(args.frontier))
        draw.emit(result, "ironlaw-quantise-frontier/1") if args.json else quantising.frontier(result)
        return 0
    if args.zero_bits and not args.group:
        raise BadValue("--zero-bits are stored once a group; add --group, such as --group 128")
    if max(args.bits) > 16 or min(args.bits) < 2:
        raise BadValue(f"--bits {','.join(map(str, args.bits))}: a grid has 2 to 16 bits; name bits in that range")
    result = answer(args)
    draw.emit(result, "ironlaw-quantise/1") if args.json else quantising.report(result)
    return 0


def answer(args: argparse.Namespace) -> dict[str, Any]:
    """Rows by bits; each with the noise of its grid and the bits that a weight takes on disk."""
    params, kept = _model(args.model) if args.model else (0.0, 0.0)
    rows = []
    for bits in args.bits:
        stored = stored_bits(bits, args.group or 0, args.scale_bits, args.zero_bits)
        row: dict[str, Any] = {
            "bits": bits, "levels": levels(bits), "step": step(1.0, bits), "noise": noise_power(bits), "sqnr_db": sqnr_db(bits),
            "next_bit": factor_per_bit(bits) if bits > 2 else None, "stored_bits": stored,
        }  # fmt: skip
        if args.model:
            row["bytes"] = (params - kept) * stored / 8 + kept * 2
        if args.pruned is not None:
            row["pruned"] = _pruned(bits, args.pruned)
        rows.append(row)
    about = {"name": args.model, "parameters": params, "kept": kept, "fp16_bytes": 2.0 * params} if args.model else None
    return {"model": about, "group": args.group, "pruned": args.pruned, "rows": rows}


def _model(name: str) -> tuple[float, float]:
    """Parameters, and how many of them are kept in FP16: embeddings, the head, and what is not a matrix."""
    from ironlaw import workload

    graph = workload(name)
    weights = [t for t in graph.tensors.values() if t.role == "weight"]
    ends = {t.name for op in graph.ops if op.kind == "embedding" for t in op.inputs if t.role == "weight"}
    head = {t.name for t in graph.ops[-1].inputs if t.role == "weight"} if graph.ops else set()
    kept = sum(float(t.size) for t in weights if len(t.shape) < 2 or t.name in ends | head)
    return float(graph.params), kept


def _pruned(bits: int, zeros: float) -> dict[str, float]:
    """Shares of the dense bytes of a matrix."""
    dense = MATRIX * MATRIX * bits / 8
    left = (1 - zeros) * MATRIX * MATRIX
    return {
        "csr_32": csr_bytes(MATRIX, left, bits, 32) / dense, "csr_16": csr_bytes(MATRIX, left, bits, 16) / dense,
        "bitmap": bitmap_bytes(MATRIX * MATRIX, left, bits) / dense, "two_of_four": nm_storage(*PATTERN, bits),
        "csr_32_pays_from": csr_breakeven(bits, 32, MATRIX), "csr_16_pays_from": csr_breakeven(bits, 16, MATRIX),
    }  # fmt: skip


def compared(points: list[Point]) -> dict[str, Any]:
    left = {point.name for point in frontier(points)}
    rows = []
    for point in sorted(points, key=lambda p: (p.cost, p.harm)):
        better = dominated_by(point, points)
        rows.append(
            {
                "name": point.name, "cost": point.cost, "harm": point.harm, "on_frontier": point.name in left,
                "dominated_by": better and better.name,
            }
        )  # fmt: skip
    return {"points": len(points), "on_frontier": len(left), "rows": rows}


def _points(table: str) -> list[Point]:
    if table == SCOREBOARD:
        from ironlaw.registry.publications import published

        rows = (row for row in published(table).rows if row["imatrix"] in ("none", "WT 10m"))
        return [
            Point(f"{row['quant']}{'' if row['imatrix'] == 'none' else ', imatrix'}", float(row["size"]), float(row["ppl"])) for row in rows
        ]
    path = Path(table)
    if not path.is_file():
        raise BadValue(f"no file {table!r}, and no table of that name; give {SCOREBOARD}, or a CSV file with {', '.join(COLUMNS)}")
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise unknown("column", missing[0], reader.fieldnames or ["none at all"], f"a first line with {','.join(COLUMNS)}")
        points = [_point(table, number, row) for number, row in enumerate(reader, 2)]
    if not points:
        raise BadValue(f"{table} has no configurations; add lines of {','.join(COLUMNS)}")
    names = [point.name for point in points]
    if len(set(names)) < len(names):
        raise BadValue(f"{table}: {next(n for n in names if names.count(n) > 1)!r} is there twice; give each configuration its own name")
    return points


def _point(table: str, line: int, row: dict[str, Any]) -> Point:
    try:
        return Point(str(row["name"]), float(row["cost"]), float(row["harm"]))
    except (TypeError, ValueError):
        raise BadValue(
            f"{table}, line {line}: cost {row['cost']!r} and harm {row['harm']!r}; write two numbers, less is better in both"
        ) from None
