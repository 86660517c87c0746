"""Act I's settings -> a step of a model in a pipeline, and how its stages' time goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw.engine.cluster.layouts import Layout, stage_layers
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.pipeline_timeline import Stretch, stretches
from ironlaw.engine.cluster.pipelines import bubble
from ironlaw.engine.cluster.search import Candidate
from ironlaw.errors import BadValue
from ironlaw.kit import settings
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.systems.fields import among
from ironlaw.systems.training.layout_steps import layout_step

MODELS = {"gpt3_core": "GPT-3 175B", "llama3_70b": "Llama 3 70B", "llama3_405b": "Llama 3 405B"}
STAGES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
PIECES = (1, 2, 3, 4, 6, 8)
REPLICAS = (1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 36, 48, 72, 144)  # each divides every batch, with any microbatch
SEQ = 4096
STORY = "dgx_h100"
FEW = 600  # slots up to which each is drawn for itself: the question's own are 576


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand."""

    box: Box
    model: str = among(MODELS, "gpt3_core", "Model", dial="select")
    tensor: int = among((1, 2, 4, 8), 8, "Tensor parallelism (TP)")
    pipeline: int = among(STAGES, 12, "Pipeline stages", dial="select")
    data: int = among(REPLICAS, 48, "Replicas of the pipeline", dial="span", log=True, whole=True)
    virtual: int = among(PIECES, 1, "Chunks per stage")
    micro: int = among((1, 2, 4, 8), 1, "Sequences per microbatch")
    batch: int = among((1152, 2304, 4608), 1152, "Sequences per step", shown="{:,}")

    @property
    def layout(self) -> Layout:
        return Layout(tensor=self.tensor, pipeline=self.pipeline, data=self.data, virtual=self.virtual, micro=self.micro)

    @property
    def devices(self) -> int:
        return self.layout.devices

    @property
    def micro_batches(self) -> int:
        return self.batch // (self.data * self.micro)

    @property
    def bubble(self) -> float:
        return float(bubble(self.pipeline, self.micro_batches, self.virtual))

    @property
    def step(self) -> Candidate:
        return layout_step(self.model, self.box, self.layout, self.batch, SEQ)

    @property
    def rows(self) -> tuple[Stretch, ...]:
        """The stretches of the pipeline's time, in percent of it; a backward pass is drawn twice as long as a forward pass."""
        return _rows(self.pipeline, self.micro_batches, self.virtual)

    def with_data(self, data: int) -> Setting:
        return valid(replace(self, data=data))

    def with_pieces(self, pieces: int) -> Setting:
        return replace(self, virtual=pieces)


@lru_cache(maxsize=64)
def _rows(stages: int, micro_batches: int, virtual: int) -> tuple[Stretch, ...]:
    slot = 100.0 / (micro_batches + (stages - 1) / virtual)
    return stretches(stages, micro_batches, virtual, slot / 3, 2 * slot / 3, single=2 * stages * micro_batches * virtual <= FEW)


def why_not_stages(model: str, stages: int) -> str:
    """Why a pipeline of so many stages can't be; empty where it can."""
    layers = decoder(model).layers
    try:
        stage_layers(decoder(model), Layout(pipeline=stages))
    except BadValue:
        return f"{layers} layers do not divide into {stages}"
    return ""


def why_not_pieces(setting: Setting, pieces: int) -> str:
    """Why a stage can't be cut so; empty where it can."""
    if pieces == 1:
        return ""
    if setting.pipeline == 1:
        return "needs a pipeline"
    if setting.micro_batches % setting.pipeline:
        return f"{setting.micro_batches} microbatches are not a multiple of {setting.pipeline} stages"
    try:
        stage_layers(decoder(setting.model), Layout(pipeline=setting.pipeline, virtual=pieces))
    except BadValue:
        return f"{decoder(setting.model).layers} layers do not divide into {setting.pipeline} × {pieces}"
    return ""


def valid(setting: Setting) -> Setting:
    """The same with stages and pieces that divide."""
    if why_not_stages(setting.model, setting.pipeline):
        setting = replace(setting, pipeline=1, virtual=1)
    return setting if not why_not_pieces(setting, setting.virtual) else replace(setting, virtual=1)


def premise(data: int = 48, virtual: int = 1) -> Setting:
    """The question's own pipeline."""
    return Setting(box(STORY), data=data, virtual=virtual)


def setting_of(at: Box, values: Mapping[str, Any]) -> Setting:
    replicas = min(REPLICAS, key=lambda count: abs(count - float(values["data"])))
    return valid(settings.read(Setting, values, box=at, data=replicas))
