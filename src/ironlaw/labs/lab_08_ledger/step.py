"""A training step as the dials of both acts describe it, its ledger, and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ironlaw.engine.training.loss import head
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.training_layers import layer_of, layers
from ironlaw.engine.training.training_ledger import ROWS
from ironlaw.pictures.ends import doubled_to
from ironlaw.pictures.mountain import NEAR, Layer, Step, mountain
from ironlaw.pictures.theme import HELD
from ironlaw.pictures.waterfall import Limit, Part, waterfall
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, whole
from ironlaw.systems.training.ledger_cases import LedgerCase as Case
from ironlaw.systems.training.ledger_cases import graph_of
from ironlaw.widget.figure import Figure, Mark
from ironlaw.widget.quantities import share

# model -> the longest sequence that its dial offers; 0: it takes none
MODELS = {
    "gpt2": 1024, "gpt2_medium": 1024, "llama3_2_1b": 8192, "llama3_8b": 8192, "qwen2_0_5b": 8192, "bert_base": 512, "vit_b16": 0,
    "resnet50": 0, "mlp8_1024": 0,
}  # fmt: skip
LONGEST = tuple(sorted({n for n in MODELS.values() if n}))
BATCHES = [2**k for k in range(9)]
CHUNKS = [1, 2, 4, 8, 16, 32]
ATTENTION = {"fused": "one fused kernel", "three_kernels": "unfused, scores stored"}
LAYERS = {
    "weights": Layer("weights", HELD["weights"]), "master": Layer("FP32 master copy", HELD["weights"], pattern=True),
    "optimiser": Layer("optimiser state", HELD["optimiser"]), "gradients": Layer("gradients", HELD["gradients"]),
    "kept": Layer("saved by the layers", "memory"), "head": Layer("output head and loss", "memory", pattern=True),
    "passing": Layer("temporaries", "muted"),
}  # fmt: skip
PHASES = {"forward": "forward", "between": "backward", "again": "backward", "backward": "backward", "update": "update"}
NAMES = {
    "loss.to_fp32": "the cast of the logits to FP32", "loss.log_softmax": "the log-softmax of the loss",
    "loss.pick": "the labels' log-probabilities",
    "lm_head": "the output head", "optimiser": "the optimiser's step", "": "the turn from forward to backward",
}  # fmt: skip


def has_head(model: str) -> bool:
    return head(graph_of(model, LONGEST[0] if MODELS[model] else 0, 1, "fp32")) is not None


def has_attention(model: str) -> bool:
    return any(op.kind == "attention" for op in graph_of(model, LONGEST[0] if MODELS[model] else 0, 1, "fp32").ops)


def layer_count(model: str) -> int:
    return len(layers(graph_of(model, LONGEST[0] if MODELS[model] else 0, 1, "fp32")))


# --- fields that both acts have


def model_field(default: str) -> Any:
    return among(tuple(MODELS), default, "Model", dial="select", shown=lambda slug: str(about(slug)["name"]))


def tokens_field(most: int, seq: int) -> Any:
    """Each limit has a dial of its own, and one is shown."""
    steps = [n for n in (128, 256, 512, 1024, 2048, 4096, 8192) if n <= most]
    return whole(min(seq, most), "Tokens per sequence", least=128, most=most, dial="span", log=True, steps=steps)


def recipe_field(default: str) -> Any:
    return among({name: item.label for name, item in RECIPES.items()}, default, "Precision", dial="select")


def optimiser_field() -> Any:
    return among({name: item.label for name, item in OPTIMISERS.items() if "paged" not in name}, "adamw", "Optimiser", dial="select")


def attention_field() -> Any:
    return among(ATTENTION, "fused", "Attention")


def chunks_field() -> Any:
    return whole(1, "Loss chunks", most=32, dial="span", log=True, steps=CHUNKS)


class Dialled:
    """What both acts read off these fields."""

    model: str
    attention: str
    chunks: int

    @property
    def seq(self) -> int:
        most = MODELS[self.model]
        return int(getattr(self, f"seq_{most}")) if most else 0

    @property
    def levers(self) -> dict[str, Any]:
        """The levers; for a model that has none, as if there were no dial."""
        return {
            "loss_chunks": self.chunks if has_head(self.model) else 1,
            "attention": self.attention if has_attention(self.model) else "fused",
        }


def hidden_for(model: str) -> dict[str, Any]:
    """Dials that a model has no use for."""
    spans = {f"seq_{most}": {"hidden": MODELS[model] != most} for most in LONGEST}
    return {**spans, "attention": {"hidden": not has_attention(model)}, "chunks": {"hidden": not has_head(model)}}


@lru_cache(maxsize=16_384)
def plain(op: str) -> str:
    """An op's name for a reader: "layer 3, mlp.c_fc"."""
    if op in NAMES:
        return NAMES[op]
    if layer := layer_of(op):
        return f"layer {int(layer.rpartition('.')[2]) + 1}, {op.removeprefix(layer + '.')}"
    return op


def passing(phase: str) -> str:
    """The phase as a sentence names it: `backward pass`, `update`."""
    name = PHASES[phase]
    return name if name == "update" else f"{name} pass"


def micro_batches(count: int) -> str:
    return f"{count:,} microbatch{'' if count == 1 else 'es'}"


def picture(case: Case, usable: float, extra: Sequence[Mark] = ()) -> Figure:
    """The mountain of a step."""
    said = max((float(dict(one.at).get("y", 0.0)) for one in extra), default=0.0)
    steps = [Step(PHASES[m.phase], plain(m.op), m.bytes) for m in case.ledger.profile]
    return mountain(
        steps, [LAYERS[row] for row in ROWS], f"At the peak, {largest(case)}", limit=(usable, "usable memory"), extra=extra,
        top=doubled_to(2e9, [1.15 * case.peak, 1.05 * said, 1.15 * usable if usable < NEAR * case.peak else 1.0]),
        note=f"{case.name}, {case.sizes}",
    )  # fmt: skip


def pieces(case: Case) -> list[Part]:
    """What is in memory at the peak."""
    held = [(LAYERS[row], float(case.ledger.at_peak(row))) for row in ROWS]
    return [Part(layer.name, size, layer.colour, layer.pattern) for layer, size in held if size > 0]


def largest(case: Case) -> str:
    """`57% is saved by the layers`."""
    most = max(pieces(case), key=lambda part: part.value)
    return f"{share(most.value, case.peak)} is {most.name}"


def bar(case: Case, usable: float, device: str) -> Figure:
    """The rows at the peak end to end, against what the device has."""
    title = f"The peak {'fits' if case.peak <= usable else 'is too big for'} {device}"
    return waterfall(pieces(case), "B", title, "peak", Limit("usable memory", usable), "bytes", id="rows")
