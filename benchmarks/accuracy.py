"""How far predictions are from what the H200 measured, over every model: the registry's, and those that are captured.

    python benchmarks/accuracy.py [--rows]

Device time and kernels by mode; what compiling brings, eager over compiled; and how many models fall into the interval that the
others make (leave one model out). Curves are fitted to single operators, so every model is held out of them. Captured models are
built on the meta device from the rows of evidence: nothing is run. Needs PyTorch and transformers; about a minute.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import ironlaw as il
from ironlaw.compare import Comparison, Speedup, comparisons, leave_one_out, speedups

sys.path.insert(0, str(Path(__file__).with_name("device")))
import models
import transformers
import zoo
from builders import build_model

MACHINE = "h200_sxm"
EVIDENCE = Path(il.__file__).parent / "registry" / "evidence" / MACHINE
FP32 = ("f32f32", "sgemm")  # matrix products of attention taken apart
# the only ones that newer releases of transformers run otherwise: T5 hands its bias over in another layout, some take attention apart,
# and a mixture of experts no longer clears rows of experts that are elsewhere
MOVED = (
    "T5EncoderModel",
    "t5_small_encoder",
    "Gemma2ForCausalLM",
    "PvtV2Model",
    "MobileViTModel",
    "MixtralForCausalLM",
    "OlmoeForCausalLM",
)
PER_SORT = 3  # copies that a sort takes


def rows(*files: str) -> list[dict[str, Any]]:
    """Rows on models that the registry does not have."""
    found = [row for file in files for row in json.loads((EVIDENCE / f"{file}.json").read_text())["rows"]]
    return [row for row in found if row["kind"] == "model" and "model" in row and "error" not in row]


def captured(row: dict[str, Any], memo: dict[str, Any]) -> il.Graph:
    """The row's model as PyTorch would run it; eager and compiled are one graph."""
    p, training = row["params"], row["mode"] == "training"
    key = json.dumps([row["model"], p, training])
    if key not in memo:
        if "settings" in p:
            model, args, keywords = zoo.build((row["model"], p["settings"], p["input"], p["batch"], p["size"], p["dtype"]), "meta")
            keywords = ({"labels": args[0]} if p["input"] == "ids" else {}) if training else keywords
            memo[key] = il.capture(model.train(training), args, keywords, training=training)
        else:
            (found,) = ((params, build) for name, params, build in models.MODELS if name == row["model"] and params["batch"] == p["batch"])
            memo[key] = il.capture(*build_model(*found, "meta"))
    return memo[key]


def same_program(row: dict[str, Any], graph: il.Graph) -> bool:
    """Does the captured model take attention as the measured one did, and copy no less than it?"""
    attentions = [op for op in graph.ops if op.kind == "attention"]
    if not attentions and any("sdpa" in kernel["name"] for kernel in row["list"]):
        return False
    copies = sum(kernel["count"] for kernel in row["list"] if "Memcpy DtoD" in kernel["name"])
    sorts = [op for op in graph.ops if op.kind == "topk" and op.inputs[0].size == op.outputs[0].size]
    if sorts and row["mode"] == "eager" and copies > PER_SORT * len(sorts) + 1:
        return False
    products = sum(kernel["count"] for kernel in row["list"] if any(word in kernel["name"] for word in FP32))
    if not attentions or products < 2 * len(attentions):
        return True  # attention was not taken apart into two products each
    told = [op.attrs.get("path") == "math" or (row["mode"] == "compiled" and op.attrs["mask"] == "bidirectional") for op in attentions]
    return all(told)


def compared(found: list[dict[str, Any]]) -> list[Comparison]:
    """Each row beside the prediction of its captured model."""
    memo: dict[str, Any] = {}
    machine, out = il.hardware(MACHINE), []
    for row in found:
        graph = captured(row, memo)
        if not same_program(row, graph):
            if row["model"] not in MOVED:
                raise RuntimeError(f"{row['model']} runs another program here than the one that was measured")
            continue
        plan = il.Plan(mode="eager" if row["mode"] == "training" else row["mode"])
        told = il.predict(graph, machine, plan)
        bound = il.predict(graph, machine, il.Plan(mode=plan.mode, calibrated=False)).busy_s
        name = f"{row['model']} (batch {row['params']['batch']})"
        out.append(
            Comparison(
                MACHINE, "model", name, row["mode"], told.busy_s, row["busy_s"], bound, told.kernels, row["kernels"], "zoo", row["model"]
            )
        )
    return out


def everything() -> list[Comparison]:
    zoo_rows = compared(rows("zoo_eager", "zoo_compiled", "models_more", "zoo_training", "zoo_held", "zoo_held_compiled"))
    return [*comparisons(MACHINE, "model"), *zoo_rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", action="store_true", help="every model too")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    found = everything()
    print(f"{'mode':10}{'models':>8}{'device time':>14}{'worst':>9}{'kernels':>10}{'by the others':>16}")
    for mode in dict.fromkeys(gap.mode for gap in found):
        mine = [gap for gap in found if gap.mode == mode]
        inside, count = leave_one_out(mine) if len(mine) > 8 else (0, 0)
        share = f"{inside} of {count}" if count else "–"
        known = [gap for gap in mine if gap.measured_kernels]
        counts = mean(abs(gap.kernels / float(gap.measured_kernels or 1) - 1) for gap in known) if known else 0.0
        worst = max((gap.error for gap in mine), key=abs)
        print(f"{mode:10}{len(mine):8}{mean(abs(g.error) for g in mine):14.1%}{worst:+9.0%}{counts:10.1%}{share:>16}")
    brought: list[Speedup] = speedups(found)
    worst_of = max(brought, key=lambda s: abs(s.error))
    off = mean(abs(one.error) for one in brought)
    print(f"speed-up from compiling, {len(brought)} models: {off:.1%}, worst {worst_of.error:+.0%} {worst_of.name}")
    if args.rows:
        for gap in sorted(found, key=lambda gap: -abs(gap.error)):
            print(f"{gap.name:42}{gap.mode:10}{gap.error:+8.1%}  kernels {gap.kernels:,.0f} of {gap.measured_kernels or 0:,.0f}")
        for one in sorted(brought, key=lambda s: -abs(s.error)):
            print(f"{one.name:42}{'speed-up':10}{one.error:+8.1%}  {one.predicted:.2f}× of {one.measured:.2f}×")


if __name__ == "__main__":
    main()
