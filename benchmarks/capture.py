"""How fast `capture` is, how much memory it takes and how exact it is, beside other FLOP counters in one run.

    make bench            or    python benchmarks/capture.py [--models gpt2,llama3_8b] [--tools ironlaw,torch] [--brief] [--json FILE]

Each tool counts each model in a process of its own (benchmarks/counters.py), with weights and, where it can, without (fake tensors,
or the meta device). `first` is the first call after importing and building (beside it the
processor's own time, which other work on the machine disturbs less), `again` the best of two more. FLOPs stand beside a count by
hand: multiply-adds by layer formula, below. A tool that is not installed, or that fails, is listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

TOOLS = ("ironlaw", "torch", "fvcore", "calflops", "ptflops", "deepspeed")
NAMES = {"torch": "FlopCounterMode"}
GOALS = {"resnet50": (0.5, None), "gpt2": (1.0, None), "llama3_8b": (2.0, 1e9)}  # seconds, bytes
HEAVY = ("llama3_8b",)  # 16 GB of weights: counted without them alone
PATIENCE = 300


# ---- by hand: multiply-adds


def resnet50() -> int:
    """Bottlenecks of 1×1, 3×3 (which strides) and 1×1, and a 1×1 shortcut where the width changes; images of 224²."""
    total, width_in = 112 * 112 * 64 * 3 * 7 * 7, 64
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for block in range(blocks):
            before = side * 2 if block == 0 and width > 64 else side
            total += before * before * width_in * width + side * side * (width * width * 9 + width * 4 * width)
            total += side * side * width_in * 4 * width if block == 0 else 0
            width_in = 4 * width
    return total + 2048 * 1000


def decoder(tokens: int, layers: int, width: int, heads: int, kv: int, inner: int, products: int, vocabulary: int) -> int:
    """Projections of query and output, of keys and values, `products` in the feed-forward, two products of attention, the head."""
    shared = width // heads * kv
    weights = layers * (2 * width * width + 2 * width * shared + products * width * inner) + width * vocabulary
    return tokens * weights + layers * 2 * tokens * tokens * width


BY_HAND = {
    "resnet50": 2 * resnet50(),
    "gpt2": 2 * decoder(128, 12, 768, 12, 12, 3072, 2, 50257),
    "small_llama": 2 * decoder(128, 4, 512, 8, 2, 1408, 3, 8000),
    "llama3_8b": 2 * decoder(128, 32, 4096, 32, 8, 14336, 3, 128256),
    "attention": 2 * (2 * 8 * 64 * 64 * 32),
    "grouped": 2 * (2 * 8 * 64 * 64 * 32),  # eight heads of queries, whoever shares the keys
    "elementwise": 18 * 256 * 1024,
}
MODELS = ("resnet50", "gpt2", "small_llama", "llama3_8b")
PROBES = ("attention", "grouped", "elementwise")


# ---- running


def counted(tool: str, model: str, device: str) -> dict[str, Any]:
    script = str(Path(__file__).with_name("counters.py"))
    try:
        done = subprocess.run([sys.executable, script, tool, model, device], capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {PATIENCE} s"}
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        return {"error": f"ended with {done.returncode}: {done.stderr.strip()[-160:]}"}


def measure(tools: list[str], models: list[str], brief: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for model in models:
        for tool in tools:
            for way in ways(tool, model, brief):
                last = found[-1] if found and (found[-1]["tool"], found[-1]["model"]) == (tool, model) else {}
                if way == "meta" and last and "error" not in last:
                    continue  # fake tensors did
                print(f"\r{model} {tool} {way}".ljust(60), end="", file=sys.stderr, flush=True)
                found.append({"tool": tool, "model": model, "tensors": way} | counted(tool, model, way))
                if "missing" in found[-1]:
                    break
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return found


def ways(tool: str, model: str, brief: bool) -> list[str]:
    """Without weights in whichever way a tool can (fake tensors, the meta device), and with them; in brief, one of the two."""
    if tool == "ironlaw":
        return ["meta"]
    if model in HEAVY:
        return ["fake", "meta"]
    return ["real"] if brief or model in PROBES else ["fake", "meta", "real"]


# ---- tables


def seconds(value: float) -> str:
    return f"{value:.2f}"


def models_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    table = [["model", "tool", "tensors", "FLOPs / by hand", "first, s", "of CPU, s", "again, s", "peak, MB", "of it the call"]]
    for r in rows:
        if r["model"] in MODELS and "missing" not in r:
            head = [r["model"], NAMES.get(r["tool"], r["tool"]), r["tensors"]]
            if "error" in r:
                table.append([*head, f"fails: {r['error']}", "", "", "", "", ""])
                continue
            ratio = r["flops"] / BY_HAND[r["model"]]
            exact = "exact" if r["flops"] == BY_HAND[r["model"]] else f"{ratio:.4f}"
            grown = r["peak_bytes"] - r["before_bytes"]
            times = (seconds(r[name]) for name in ("first_s", "cpu_s", "again_s"))
            table.append([*head, exact, *times, f"{r['peak_bytes'] / 1e6:.0f}", f"{grown / 1e6:.0f}"])
    return table


def probes_table(rows: list[dict[str, Any]], tools: list[str]) -> list[list[str]]:
    """Who counts what: a share of the count by hand, `exact`, or nothing; on a CPU with real tensors, as each is mostly used."""
    table = [["tool", "attention on a CPU", "grouped-query attention", "element-wise, all arithmetic", "bytes moved"]]
    for tool in tools:
        line = [NAMES.get(tool, tool)]
        for probe in PROBES:
            mine = [r for r in rows if r["tool"] == tool and r["model"] == probe]
            found = next((r for r in mine if r["tensors"] == ("meta" if tool == "ironlaw" else "real")), mine[0] if mine else {})
            line.append(_share(found, "all" if probe == "elementwise" else "flops", BY_HAND[probe]))
        table.append([*line, "each tensor, each operator" if any("bytes" in r for r in rows if r["tool"] == tool) else "no"])
    return table


def _share(row: dict[str, Any], what: str, wanted: int) -> str:
    if "missing" in row or not row:
        return "not installed"
    if "error" in row:
        return "fails"
    return "exact" if row[what] == wanted else "none" if row[what] == 0 else f"{row[what] / wanted:.3f}"


def markdown(table: list[list[str]]) -> str:
    wide = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)) + " |" for row in table]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in wide) + "|", *lines[1:]])


def goals(rows: list[dict[str, Any]]) -> list[str]:
    told = []
    for model, (limit, room) in GOALS.items():
        for r in rows:
            if r["tool"] == "ironlaw" and r["model"] == model and "first_s" in r:
                good = r["first_s"] < limit and (room is None or r["peak_bytes"] < room)
                memory = f", {r['peak_bytes'] / 1e6:.0f} MB of {room / 1e6:.0f}" if room else ""
                took = f"{r['first_s']:.2f} s of {limit} s on the first call, {r['cpu_s']:.2f} s of it on the processor"
                told.append(f"{'✓' if good else '✗'} {model}: {took}{memory}")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join((*MODELS, *PROBES)))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--brief", action="store_true", help="with weights alone, where they are not too large")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    tools, models = args.tools.split(","), args.models.split(",")
    rows = measure(tools, models, args.brief)
    versions = {r["tool"]: r["version"] for r in rows if "version" in r}
    listed = ", ".join(f"{tool} {found}" for tool, found in versions.items())
    print(f"{date.today()}, {platform.machine()}, Python {platform.python_version()}: {listed}\n")
    print(markdown(models_table(rows)), "\n")
    if any(r["model"] in PROBES for r in rows):
        print(markdown(probes_table(rows, tools)), "\n")
    for line in dict.fromkeys(r["missing"] for r in rows if "missing" in r):
        print(f"not compared: {line}")
    print("\n".join(goals(rows)))
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
