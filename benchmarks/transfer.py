"""Constants of transferred predictions, fitted to published rows, and how far off they are on a machine that was left out.

    python benchmarks/transfer.py --data DIR [--write]

DIR holds the published rows, which are not part of the project. Each family of kernels has a few constants for all machines; they are
found by Nelder–Mead over their logarithms. Then each machine is left out in turn, the constants are fitted to the others, and what its own
rows say beside them is the family's error and interval. --write stores constants, residuals and sources as the project's data.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from transfer_rows import OWN, Rows, families

from ironlaw.calibration.transfer import attention_law, product_law, stream_law, transfer_rows
from ironlaw.calibration.transfer.chip_traits import group
from ironlaw.calibration.transfer.power import sustained
from ironlaw.calibration.transfer.transfer_laws import TILES, helps, product_constants, stream_constants

STORED = Path(__file__).parents[1] / "src/ironlaw/registry/transfer/constants.json"
OWN_FLOOR = 2.5e-6  # seconds
SOFT = 0.1  # relative error at which a row stops pulling harder
ENOUGH = 120  # rows of a machine to fit to; all of them are judged
FITTED = ("NVIDIA", "AMD")  # Intel's one card runs another library: its rows say how far off that is, and pull on nothing
RESTLESS, NOISY = ("t4", "p100"), 0.4  # cards whose sweeps disagree with themselves by tens of percent, and what they weigh
SOURCES = {
    "neusight": "NeuSight, sitar-lab, FP32 operators on five GPUs, https://github.com/sitar-lab/NeuSight (MIT)",
    "aiconfigurator": "AIConfigurator, NVIDIA, kernels of serving stacks, https://github.com/ai-dynamo/aiconfigurator (Apache-2.0)",
}
# FLOP/s a watt that a node's chips keep up, in the vector units and in the matrix units at 16 bits: of a card that holds its clock there
WATTS = {
    "16nm": {"vector": 9.3e12 / 250, "matrix": 18.7e12 / 250},  # P100 PCIe, datasheet
    "12nm": {"vector": 14.0e12 / 250, "matrix": 112e12 / 250},  # V100 PCIe, datasheet
    "8nm": {"vector": 35.6e12 / 350, "matrix": 154.8e12 / 300},  # RTX 3090 and RTX A6000, datasheets
    # best FP32 products of an A100 40 GB PCIe (zzc0721/torch-performance-test-data, issue 108); A100 SXM, datasheet
    "7nm": {"vector": 17.56e12 / 250, "matrix": 312e12 / 400},
    "4N": {"vector": 82.6e12 / 450, "matrix": 1.1e12},  # RTX 4090, datasheet; H100's best BF16 products, 0.78 of the peak at 700 W
    "4NP": {"vector": 80e12 / 400, "matrix": 1.7e12},  # assumed: as the 4N, and a B200's best products at 1000 W
}


@dataclass(frozen=True)
class Family:
    """A kind of kernel: names and first values of its constants, and the seconds of rows on a chip."""

    source: str
    start: dict[str, float]
    seconds: Callable[[dict[str, float], Rows, stream_law.StreamConstants], Any]
    held: tuple[str, ...] = ()  # constants that few machines' rows say anything of


def floor(c: Any, r: Rows) -> float:
    """A published row's floor has what its host or stack adds, which no prediction takes over; the project's own rows have a kernel's."""
    return OWN_FLOOR if r.slug == OWN and r.profiled else float(c.floor)


def product(fmt: str, tiles: Sequence[tuple[int, int]]) -> Callable[..., Any]:
    def seconds(c: dict[str, float], r: Rows, s: stream_law.StreamConstants) -> Any:
        k = product_constants(c, tiles, r.chip)
        sizes = tuple(r.sizes[name] for name in ("batch", "m", "n", "k"))
        share = sustained(r.chip, fmt, k.share, WATTS)
        return product_law.product_s(sizes, r.sizes["data"], r.chip, fmt, k, stream_law.bandwidth(r.chip, s), share)[2] + floor(k, r)

    return seconds


def conv_seconds(c: dict[str, float], r: Rows, s: stream_law.StreamConstants) -> Any:
    """Convolutions in FP32: as products, or by Winograd's filtering where that is sooner."""
    k, z = product_constants(c, TILES["fp32"], r.chip), r.sizes
    share, gets = sustained(r.chip, "fp32", k.share, WATTS), stream_law.bandwidth(r.chip, s)
    direct = product_law.product_s(tuple(z[name] for name in ("batch", "m", "n", "k")), z["data"], r.chip, "fp32", k, gets, share)[2]
    image = np.maximum(z["tiles"], 1.0), z["batch"], z["inner"], z["n"]
    turned = product_law.winograd_s(image, z["data"], r.chip, k, gets, share)[2]
    return np.where(z["tiles"] > 0, np.minimum(direct, turned), direct) + floor(k, r)


def row_seconds(c: dict[str, float], r: Rows, s: stream_law.StreamConstants) -> Any:
    k = transfer_rows.RowConstants(**c)
    return transfer_rows.rows_s(r.sizes["rows"], r.sizes["width"], 4.0, r.chip, k, stream_law.bandwidth(r.chip, s))[2] + floor(k, r)


def prefill_seconds(c: dict[str, float], r: Rows, s: stream_law.StreamConstants) -> Any:
    k, z = attention_law.PrefillConstants(**c), r.sizes
    return (
        attention_law.prefill_s(
            z["heads"], z["queries"], z["keys"], z["d"], True, z["data"], r.chip, "bf16", k, stream_law.bandwidth(r.chip, s)
        )[2]
        + k.floor
    )


def decode_seconds(c: dict[str, float], r: Rows, s: stream_law.StreamConstants) -> Any:
    k, z = attention_law.DecodeConstants(**c), r.sizes
    return attention_law.decode_s(z["heads"], z["groups"], z["keys"], z["data"], r.chip, k, stream_law.bandwidth(r.chip, s))[2] + k.floor


def stream_seconds(c: dict[str, float], r: Rows, _: Any) -> Any:
    k = stream_constants(c)
    return stream_law.stream_s(r.sizes["data"], r.chip, k) + k.floor


SMALLER = {"tile_128x64": 0.92, "tile_64x64": 0.85, "tile_64x32": 0.7, "tile_32x32": 0.5}
FP32 = {
    "share": 0.98,
    "lanes_128": 0.79,
    "16nm": 0.92,
    "AMD": 0.85,
    "knee": 30.0,
    "alone": 0.3,
    "wave": 0.7,
    "split": 0.1,
    "memory": 0.95,
    "p": 2.0,
    "floor": 4e-6,
} | SMALLER
NARROW = {
    "share": 0.75, "knee": 100.0, "alone": 0.15, "wave": 0.7, "split": 0.1, "memory": 0.9, "p": 2.0, "floor": 4e-6,
    "tile_128x128": 0.95, "tile_128x64": 0.85, "tile_64x64": 0.6, "tile_64x32": 0.4, "tile_64x16": 0.25,
}  # fmt: skip
ROW = {"again": 1.0, "resident": 8.0, "row": 60.0, "element": 0.05, "memory": 0.95, "p": 3.0, "floor": 2.5e-6}
FAMILIES = {
    "stream": Family(
        "neusight",
        {"HBM": 0.9, "GDDR": 0.77, "AMD": 0.95, "clocked": 32.0, "p": 4.0, "floor": 3e-6},
        stream_seconds,
        ("clocked", "p", "floor"),
    ),
    "linear_fp32": Family("neusight", FP32, product("fp32", TILES["fp32"])),
    "bmm_fp32": Family("neusight", FP32, product("fp32", TILES["fp32"])),
    "conv_fp32": Family("neusight", FP32 | {"winograd": 1.2}, conv_seconds, ("share", "memory", "p", "wave", *SMALLER)),
    "layer_norm": Family("neusight", ROW, row_seconds),
    "softmax": Family("neusight", ROW, row_seconds),
    "softmax_block": Family("neusight", ROW, row_seconds),
    "linear_16bit": Family("aiconfigurator", NARROW, product("bf16", TILES["narrow"])),
    "linear_fp8": Family("aiconfigurator", NARROW, product("fp8", TILES["narrow"])),
    "attention": Family(
        "aiconfigurator", {"share": 0.7, "exponential": 0.5, "tail": 0.5, "memory": 0.9, "p": 3.0, "floor": 8e-6}, prefill_seconds
    ),
    "attention_decode": Family(
        "aiconfigurator", {"memory": 0.9, "clocked": 32.0, "chunk": 256.0, "shared": 0.3, "p": 3.0, "floor": 8e-6}, decode_seconds
    ),
}
LEAST_P = 1.0
FAR = 4.0  # times the last cache
HELD, LOOSE, UNTOLD = 0.03, 0.003, 10.0  # how hard a constant is held to its first value
PRODUCTS_SEEN = {"linear_fp32": "fp32", "linear_16bit": "bf16", "linear_fp8": "fp8"}


def constants(family: Family, x: Any) -> dict[str, float]:
    return {name: float(np.exp(v)) + (LEAST_P if name == "p" else 0.0) for name, v in zip(family.start, x, strict=True)}


def start(family: Family) -> Any:
    return np.log([value - (LEAST_P if name == "p" else 0.0) for name, value in family.start.items()])


def fit(family: Family, machines: Sequence[Rows], s: stream_law.StreamConstants | None, first: Any = None, tries: int = 2000) -> Any:
    """The logarithms of the constants. Each machine weighs the same; a constant that nothing pulls on stays where it began."""
    origin, weights = start(family), [NOISY if r.slug in RESTLESS else 1.0 for r in machines]
    told = [HELD if name in family.held else LOOSE for name in family.start]
    pull = np.array([UNTOLD if untold(name, machines) else each for name, each in zip(family.start, told, strict=True)])
    machines = [r.sample(ENOUGH) for r in machines]

    def loss(x: Any) -> float:
        c = constants(family, x)
        errors = [np.log(family.seconds(c, r, s) / r.seconds) for r in machines]
        return float(np.average([np.mean(np.sqrt(e**2 + SOFT**2)) for e in errors], weights=weights) + np.sum(pull * (x - origin) ** 2))

    x = origin if first is None else first
    return minimize(loss, x, method="Nelder-Mead", options={"maxfev": tries, "xatol": 0.01, "fatol": 1e-4, "adaptive": True}).x


def untold(name: str, machines: Sequence[Rows]) -> bool:
    """Whether a constant belongs to chips of which none is among these machines."""
    if name == "AMD":
        return all(r.chip.maker != "AMD" for r in machines)
    if name.startswith("lanes_"):
        return all(f"lanes_{r.chip.lanes:.0f}" != name for r in machines)
    return name in WATTS and all(r.chip.node != name for r in machines)


def judged(log_errors: Any) -> dict[str, float]:
    """Of log(predicted / measured): mean absolute relative error, bias, and the sd that would hold four in five of them."""
    return {
        "rows": len(log_errors), "error": round(float(np.mean(np.abs(np.exp(log_errors) - 1))), 4),
        "bias": round(float(np.median(log_errors)), 4), "sd": round(float(np.quantile(np.abs(log_errors), 0.8)) / 1.2816, 4),
    }  # fmt: skip


def grouped(machines: Sequence[Rows], errors: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The same over machines of a group (`chip.group`): NVIDIA's that hold their clock, those that throttle, AMD's, Intel's."""
    found: dict[str, list[Any]] = {}
    for r in machines:
        found.setdefault(group(r.chip), []).append(errors[r.slug])
    return {name: judged(np.concatenate(parts)) for name, parts in found.items()}


def left_out(name: str, machines: Sequence[Rows], streaming: Callable[[str], Any], two: dict[str, dict[str, float]]) -> tuple[Any, Any]:
    """log(predicted / measured) of each machine's rows, by constants that were fitted to the others from where every fit begins; and the
    same where the machine's own two figures are known (`two_figures`)."""
    family, errors, aided = FAMILIES[name], {}, {}
    for r in machines:
        others = [other for other in machines if other.slug != r.slug and other.chip.maker in FITTED]
        s = streaming(r.slug)
        c = constants(family, fit(family, others, s))
        errors[r.slug] = np.log(family.seconds(c, r, s) / r.seconds)
        known = replace(r, chip=replace(r.chip, achieved=two.get(r.slug, {})))
        if helps(name, known.chip):
            aided[r.slug] = np.log(family.seconds(c, known, s) / r.seconds)
    return errors, aided


def two_figures(found: dict[str, list[Rows]]) -> dict[str, dict[str, float]]:
    """Machine -> what a short measurement would say of it: the best share of its bandwidth among streams that no cache holds, and of its
    peak among products; each the third best of its rows, as single rows are noisy."""
    seen: dict[str, dict[str, float]] = {}
    for r in found["stream"]:
        long = r.sizes["data"] >= FAR * r.chip.cache
        seen.setdefault(r.slug, {})["bandwidth"] = third_best(r.sizes["data"][long] / r.seconds[long] / r.chip.bandwidth)
    for family, fmt in PRODUCTS_SEEN.items():
        for r in found[family]:
            rates = 2.0 * r.sizes["m"] * r.sizes["n"] * r.sizes["k"] / r.seconds
            seen.setdefault(r.slug, {})[fmt] = third_best(rates / r.chip.peaks[fmt])
    return seen


def third_best(shares: Any) -> float:
    return min(float(np.sort(shares)[-3:][0]), 1.0)


def with_two(machines: Sequence[Rows], aided: dict[str, Any]) -> dict[str, Any]:
    """What came out with a machine's two figures known, by machine and by group."""
    mine = [r for r in machines if r.slug in aided]
    return {"left_out": {slug: judged(e) for slug, e in aided.items()}, "groups": grouped(mine, aided)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder with the published rows")
    parser.add_argument("--write", action="store_true", help=f"store the summary as {STORED.name}")
    parser.add_argument("--family", choices=tuple(FAMILIES), help="this one alone; with --write, in place of what is stored of it")
    args = parser.parse_args()
    found = families(args.data)
    summary = summarised(found, (args.family,) if args.family else tuple(FAMILIES))
    if args.write:
        STORED.parent.mkdir(exist_ok=True)
        if args.family:
            stored = json.loads(STORED.read_text())
            summary = stored | {"watts": WATTS, "families": stored["families"] | summary["families"]}
        STORED.write_text(json.dumps(summary, indent=1) + "\n")
        print("written:", STORED.name)


def summarised(found: dict[str, list[Rows]], wanted: Sequence[str]) -> dict[str, Any]:
    flow = FAMILIES["stream"]
    whole = stream_constants(constants(flow, fit(flow, found["stream"], None)))
    memo: dict[str, Any] = {}

    def streaming(slug: str) -> Any:
        others = [r for r in found["stream"] if r.slug != slug]
        if len(others) == len(found["stream"]):
            return whole
        if slug not in memo:
            memo[slug] = stream_constants(constants(flow, fit(flow, others, None)))
        return memo[slug]

    two = two_figures(found)
    out: dict[str, Any] = {"sources": SOURCES, "watts": WATTS, "families": {}}
    for name in wanted:
        family, machines = FAMILIES[name], found[name]
        x = fit(family, [r for r in machines if r.chip.maker in FITTED], whole)
        errors, aided = left_out(name, machines, streaming, two)
        apart = {slug: judged(e) for slug, e in errors.items()}
        inside = {r.slug: judged(np.log(family.seconds(constants(family, x), r, whole) / r.seconds))["error"] for r in machines}
        every = judged(np.concatenate(list(errors.values())))
        out["families"][name] = {
            "source": family.source, "constants": {k: float(f"{v:.4g}") for k, v in constants(family, x).items()},
            "left_out": apart, "two_figures": with_two(machines, aided),
            "fitted": inside, "all": every, "groups": grouped(machines, errors),
            "nodes": sorted({r.chip.node for r in machines}), "refused": sum(r.refused for r in machines),
        }  # fmt: skip
        print(f"{name}: {every['rows']} rows, left out {every['error']:.1%}, sd {every['sd']:.3f}", out["families"][name]["constants"])
        for slug, one in apart.items():
            known = out["families"][name]["two_figures"]["left_out"].get(slug, {"error": float("nan")})["error"]
            print(
                f"    {slug:16} {one['rows']:5} rows  left out {one['error']:6.1%}  bias {one['bias']:+.3f}"
                f"  with two figures {known:6.1%}  fitted {inside[slug]:6.1%}"
            )
    return out


if __name__ == "__main__":
    main()
