"""The open set: models that were measured on a machine and that anybody may look into, each row with the graph of its model.

The registry's models, and those of transformers that are captured on the meta device from the rows of evidence: nothing is run. Capturing
needs PyTorch and transformers, and about a minute.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.systems.accuracy.refit import registry_models

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


FILES = ("zoo_eager", "zoo_compiled", "models_more", "zoo_training", "zoo_held", "zoo_held_compiled")


def captured_models(only: set[str] | None = None) -> Iterator[tuple[Row, il.Graph]]:
    """The rows of models that the registry does not have, or of those named."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    memo: dict[str, Any] = {}
    for row in rows(*FILES):
        if only is not None and row["model"] not in only:
            continue
        graph = captured(row, memo)
        if same_program(row, graph):
            yield Row.from_json(row), graph
        elif row["model"] not in MOVED:
            raise RuntimeError(f"{row['model']} runs another program here than the one that was measured")


def open_models(slug: str) -> Iterator[tuple[Row, il.Graph]]:
    """All of a machine's: only the H200's evidence has models beyond the registry."""
    yield from registry_models(slug)
    if slug == MACHINE:
        yield from captured_models()
