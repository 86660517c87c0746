"""What the premises of claims are called, and how their values are read: words and units, never the name of a variable.

`check.py` asks for the words of every premise that any claim has, in its rows or in its cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.claims.reading import FILE
from ironlaw.errors import UnknownName
from ironlaw.registry.boxes import box
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.units import UNITS, joined, show, significant

SHARE = "share"  # a unit: 0.05 is read as 5%
# premise -> what a sentence calls it, and the unit of a number
LABELS: Mapping[str, tuple[str, str]] = {
    "accountant": ("the accountant", ""), "against": ("the steps of the attack", ""), "algorithm": ("the algorithm", ""),
    "architecture": ("the network", ""), "attention": ("how attention is written", ""), "b": ("the sequences in a batch", ""),
    "basis": ("how the time between failures was found", ""), "batch": ("the batch", ""), "beta": ("the bandwidth of a link", "B/s"),
    "between": ("the time between failures", "s"), "block": ("the tokens of a block", ""), "box": ("the box", ""),
    "burst": ("the requests that arrive together", ""), "case": ("the case", ""), "causal": ("the causal mask", ""),
    "cents": ("the price of electricity", "cents per kWh"), "classes": ("the number of classes", ""),
    "clients": ("the requests under way at once", ""), "clip": ("the clip norm", ""), "clock": ("the clock", ""),
    "common": ("the share of failures that take both replicas", SHARE), "context": ("the context", "tokens"),
    "counted": ("what is counted", ""), "crossings": ("how often keys and values reach DRAM", ""), "d": ("the size of a head", ""),
    "data": ("the data set", ""), "dataset": ("the data set", ""), "dependence": ("the correlation of the services", ""),
    "device": ("the GPU", ""), "devices": ("the number of devices", ""), "dtype": ("the number format", ""),
    "elasticity": ("the elasticity of demand", ""), "engine": ("the serving engine", ""), "epochs": ("the epochs", ""),
    "eps": ("the largest change of a pixel", ""), "epsilon": ("the budget ε", ""), "even": ("the lengths of the requests", ""),
    "every": ("the time between far saves", "s"), "factor": ("the interval over the best one", "×"),
    "fell": ("the models that lost more than five points", ""), "few": ("the GPUs of the smaller run", ""),
    "ffn": ("the width of the feed-forward layer", ""), "fmt": ("the narrow format", ""), "format": ("the number format", ""),
    "fused": ("the fused kernel", ""), "fused mode": ("what made the fused kernel", ""),
    "gap": ("the gap that is allowed between groups", SHARE), "grams": ("the grid's carbon", "g per kWh"), "h": ("the number of heads",
    ""),
    "heads": ("the number of key-value heads", ""), "hidden": ("the width of the model", ""), "host": ("the box", ""),
    "hosts": ("the number of hosts", ""), "hours": ("the published time between failures", "h"), "image": ("the image's width", "pixels"),
    "input": ("what goes in", ""), "items": ("the number of items", ""), "job": ("the job", ""), "k": ("the inner dimension K", ""),
    "law": ("the law of the services' times", ""), "layer": ("what a layer keeps, in tensors of its output", ""),
    "layers": ("the number of layers", ""), "limit": ("the most requests at once", ""), "line": ("the queue", ""), "link": ("the link",
    ""),
    "load": ("the load", SHARE), "longest": ("the longest request that room is kept for", "tokens"), "m": ("the rows M", ""),
    "machine": ("the machine", ""), "made": ("the order in which gradients are summed", ""), "micro": ("the number of microbatches", ""),
    "mode": ("how the model is run", ""), "model": ("the model", ""), "models": ("the number of models", ""), "month": ("the month", ""),
    "n": ("the columns N", ""), "narrow": ("the narrow format", ""), "net": ("the network", ""), "nics": ("the number of NICs per box",
    ""),
    "noise": ("the noise multiplier", ""), "numel": ("the number of elements", ""), "old": ("the older GPU", ""),
    "one_wire": ("whether all senders share one wire", ""), "op": ("the operator", ""), "order": ("the order of service", ""),
    "p": ("the accelerator's share of the time", SHARE), "padding": ("the padding", ""), "pause": ("the length of a pause", "s"),
    "peak": ("which peak is meant", ""), "per_pod": ("the hosts of a pod", ""), "period": ("the time between stalls", "s"),
    "phase": ("the phase", ""), "plain": ("the plain version", ""), "policy": ("when a batch starts", ""),
    "ports": ("the number of ports per box", ""),
    "q": ("the sampling rate", SHARE), "quant": ("the quantisation", ""), "radix": ("the ports of a switch", ""),
    "ranks": ("how many take part", ""), "rate": ("the arrival rate", "requests per second"), "reads": ("how often a row is read", ""),
    "recipe": ("the training recipe", ""), "records": ("the number of records", ""), "requests": ("the number of requests", ""),
    "restart": ("the time to restart", "s"), "retries": ("the number of retries", ""), "right": ("how many predictions were right", ""),
    "robust": ("the robust version", ""), "row": ("the row of the table", ""), "rule": ("the rule", ""), "run": ("the run", ""),
    "s": ("the sequence length", ""), "samples": ("the number of noisy copies", ""), "save": ("the time that a save takes", "s"),
    "scale": ("how many weights share a scale", ""), "scattered": ("the share of ranks that are scattered", SHARE),
    "second": ("the base rate of the second group", SHARE), "first": ("the base rate of the first group", SHARE),
    "seed": ("the random seed", ""), "seq": ("the sequence length", "tokens"), "servers": ("the number of servers", ""),
    "service": ("how the service times vary", ""), "settings": ("the model's settings", ""), "shape": ("the shape", ""),
    "sigma": ("the spread of the noise", ""), "size": ("the size", ""), "bytes": ("the size of the message", "B"),
    "speed": ("the learning rate", ""), "spread": ("how much larger some channels' weights are", "×"),
    "stages": ("the number of pipeline stages", ""),
    "stall": ("the length of a stall", "s"), "starts": ("the random starts of the attack", ""),
    "stated": ("the confidence stated", SHARE),
    "steps": ("the number of steps", ""), "storage": ("the file system's bandwidth", "B/s"),
    "strong": ("the models that are accurate and robust", ""), "tail_shape": ("the shape of the tail", ""),
    "tensor": ("the tensor-parallel devices", ""), "tensors": ("the tensors that were counted on", ""),
    "thin": ("the oversubscription of the spine", "to 1"), "tool": ("the counter", ""), "traffic": ("the traffic", ""),
    "unreliable": ("whether RobustBench doubts the figure", ""), "utilisation": ("the utilisation", SHARE),
    "variant": ("the compiler's variant", ""), "width": ("the width", ""), "how": ("what the workers are", ""),
    "year": ("where it was published", ""),
    FILE: ("something that differs between the files but was not recorded", ""),
}  # fmt: skip
# premises whose values say what they are
PLAIN = {
    "accountant", "algorithm", "architecture", "basis", "box", "case", "clock", "counted", "data", "dataset", "device", "dtype",
    "engine", "even", "fmt",
    "format", "fused", "host", "job", "line", "link", "machine", "made", "mode", "model", "narrow", "net", "old", "one_wire", "op",
    "order", "peak", "phase", "plain", "policy", "quant", "recipe", "robust", "rule", "scale", "service", "settings", "shape", "traffic",
    "unreliable", "variant", "how", "year", FILE,
}  # fmt: skip
SHORT = {
    "s": "S", "d": "head size", "devices": "devices", "nics": "NICs per box", "batch": "batch", "m": "M", "n": "N", "k": "K",
    "spread": "largest channels", "seq": "sequence", "ranks": "ranks",
}  # fmt: skip  # before a value
MODELS = {
    "Alfarra2020ClusTR": "ClusTR", "Amini2024MeanSparse_S-WRN-94-16": "MeanSparse", "Bai2023Improving_edm": "Adaptive mixing",
    "Bai2024MixedNUTS": "MixedNUTS", "Bartoldson2024Adversarial_WRN-94-16": "Scaling laws", "JinRinard2020Manifold": "Manifold",
    "Kang2021Stable": "Stable ODE", "Standard": "the standard network", "Standard_R50": "the standard ResNet-50",
    "Salman2020Do_R50": "the robust ResNet-50", "WangZhang2019Bilateral": "Bilateral", "ZhangXu2020Adversarial": "Interpolation",
    "convnext_tiny": "ConvNeXt-Tiny", "mlp": "a perceptron", "mlp8_1024": "a perceptron of 8 layers",
    "transformer_encoder": "a transformer encoder",
    "unet_block": "a block of a U-Net", "resnet18_32": "ResNet-18 for small images", "ds_cnn": "DS-CNN", "v100": "V100 SXM2",
    "v100_pcie": "V100 PCIe",
}  # fmt: skip
VALUES: Mapping[str, Mapping[Any, str]] = {
    "accountant": {"moments": "the moments accountant", "rdp": "Rényi divergences"},
    "algorithm": {"double_tree": "a double tree", "rabenseifner": "halving and doubling", "ring": "a ring", "two_level": "two levels"},
    "basis": {"seen": "seen on jobs", "projected": "projected from the rate of a node"},
    "causal": {0: "off", 1: "on"},
    "clock": {
        "busy_s": "device time", "wall_s": "time of a call", "piped_s": "queued calls", "graph_s": "graph replay", "event_s": "events",
        "compile_s": "cold compile", "compile_warm_s": "warm compile", "sync_s": "waited for",
    },
    "data": {"cifar10": "CIFAR-10", "imagenet": "ImageNet"},
    "even": {"yes": "requests of equal length", "no": "requests as people write them"},
    "fused": {"one_pass": "one pass", "triton": "Triton", "compiled": "compiled", "fused": "fused"},
    "input": {"ids": "tokens", "image": "images"},
    "job": {"dense": "the dense model", "experts": "the mixture of experts", "pipeline": "the pipeline"},
    "law": {"exponential": "exponential", "lognormal": "log-normal", "pareto": "Pareto"},
    "line": {"fixed": "equal service times", "pooled": "eight servers on one line", "batching": "a server that takes batches"},
    "made": {True: "each sum as its gradients are made", False: "sums in the reverse order"},
    "mode": {"eager": "eager", "compiled": "compiled", "eager_graphs": "eager, replayed as a graph", "graphs": "a graph",
    "training": "training"},
    "one_wire": {0: "a link of each host's own", 1: "one wire for all hosts"},
    "order": {"fifo": "first come, first served", "lifo": "last come, first served", "random": "at random", "shortest": "shortest first"},
    "policy": {"fixed": "full batches", "waiting": "everyone who waits"},
    "quant": {"q4_0": "Q4_0", "q4_1": "Q4_1", "q4_K_M": "Q4_K_M", "q4_K_S": "Q4_K_S"},
    "recipe": {
        "autocast": "autocast", "fp32": "FP32", "mixed": "mixed precision", "mixed_fp32_grads": "mixed precision with FP32 gradients",
        "pure": "16 bits throughout",
    },
    "rule": {
        "equal_odds": "equal odds", "equal_opportunity": "equal opportunity", "equal_selection": "equal selection",
    },
    "scale": {"channel": "one scale per channel", "tensor": "one scale per tensor"},
    "service": {"exponential": "exponential service times", "fixed": "equal service times"},
    "tensors": {"fake": "fake tensors", "meta": "the meta device", "real": "real tensors"},
    "tool": {
        "calflops": "calflops", "deepspeed": "DeepSpeed", "flopcountermode": "PyTorch's counter", "fvcore": "fvcore",
        "ptflops_aten": "ptflops (ATen)", "ptflops_py": "ptflops (Python)", "thop": "thop", "torchinfo": "torchinfo",
    },
    "traffic": {"ring": "a ring all-reduce", "all_to_all": "an all-to-all"},
    "unreliable": {"yes": "called unreliable", "no": "not called unreliable"},
    "how": {"processes": "processes", "threads": "threads"},
}  # fmt: skip
VALUES = {**VALUES, "dataset": VALUES["data"], "fused mode": VALUES["fused"]}

REGISTRIES: Mapping[str, Callable[[str], str]] = {
    "machine": lambda slug: hardware(slug).name, "box": lambda slug: box(slug).name, "host": lambda slug: box(slug).name,
    "model": lambda slug: str(about(slug)["name"]),
}  # fmt: skip


def label(key: str) -> str:
    return LABELS[key][0] if key in LABELS else key


def name(key: str) -> str:
    """What stands before a value: `batch`, `time to restart`; nothing where the value says what it is."""
    return "" if key in PLAIN else SHORT.get(key) or label(key).removeprefix("the ").removeprefix("number of ")


def value(key: str, given: Any) -> str:
    """`4,096`, `500 GB/s`, `5%`, `16,384×8,192`, `a ring`, `NVIDIA H200 SXM5 141 GB`."""
    if given in VALUES.get(key, {}):
        return VALUES[key][given]
    if isinstance(given, tuple):
        return "×".join(f"{item:,}" if isinstance(item, int) else str(item) for item in given)
    return _called(key, given) if isinstance(given, str) else _number(given, LABELS.get(key, ("", ""))[1])


def _number(given: float, unit: str) -> str:
    if unit in UNITS:
        return show(given, unit)
    if unit == SHARE:
        return f"{significant(100 * given)}%"
    text = f"{given:,.0f}" if float(given).is_integer() else significant(given)
    first, gap, rest = unit.partition(" ")
    return joined(text, f"{first.removesuffix('s') if text == '1' else first}{gap}{rest}")


def _called(key: str, given: str) -> str:
    """A name of a registry as people write it."""
    if given in MODELS:
        return MODELS[given]
    if key in ("dtype", "fmt", "narrow"):
        return given.upper()
    if key == "settings":
        return "settings of its own"
    if key == "op":
        return given.removesuffix("_").replace("_", " ") + (", in place" if given.endswith("_") else "")
    if key in REGISTRIES:
        try:
            return REGISTRIES[key](given)
        except UnknownName:  # a model that stands in a table alone
            pass
    return given.removesuffix("ForCausalLM").removesuffix("LMHeadModel").removesuffix("Model")


def faults(key: str, given: Any) -> str:
    """What is missing for a reader of this premise; empty where nothing is."""
    if key not in LABELS:
        return f"the premise {key!r} has no words; add it to LABELS of claims/premise_words.py"
    text = value(key, given)
    named = isinstance(given, bool) or (isinstance(given, str) and "_" in text and key not in (FILE, "quant"))
    if named and given not in VALUES.get(key, {}):
        return f"the value {given!r} of {label(key)} has no words; add it to VALUES of claims/premise_words.py"
    return ""
