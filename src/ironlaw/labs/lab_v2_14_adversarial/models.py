"""The rows of RobustBench that the lab shows: what was claimed, what an attack left, and which graph of ours stands for the network."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ironlaw import kit
from ironlaw.engine.numerics.shares import Share, clopper_pearson
from ironlaw.registry.publications import published

CIFAR, IMAGENET = "cifar10", "imagenet"
TABLE, COUNTS, BOXES = "robustbench_linf", "robustbench_counts", "robustbench_boxes"
BOX = (2.0, 5.0)  # points of a box: of right answers on unchanged images, and under attack
# images of RobustBench's evaluation: all of CIFAR-10's test set; of ImageNet's the 5,000 that its data.py loads
TESTED = {CIFAR: 10_000, IMAGENET: 5_000}
SIDE = {CIFAR: 32, IMAGENET: 224}  # pixels
EPSILON = {CIFAR: 8 / 255, IMAGENET: 4 / 255}
NAMES = {CIFAR: "CIFAR-10", IMAGENET: "ImageNet"}
FELL = 5.0  # points between claim and attack from which a claim has fallen
STANDARD = {CIFAR: "Standard", IMAGENET: "Standard_R50"}
# architecture -> (graph, what of it the graph leaves out)
GRAPHS = {
    "WideResNet-28-10": ("wrn_28_10", ""),
    "WideResNet-94-16": ("wrn_94_16", ""),
    "MeanSparse WideResNet-94-16": ("wrn_94_16", "the thresholds at each activation"),
    "ResNet-152 + WideResNet-70-16 + mixing network": ("wrn_70_16", "the ResNet-152 and the mixing network"),
    "ResNet-152 + WideResNet-70-16": ("wrn_70_16", "the ResNet-152"),
    "WideResNet-70-16, Neural ODE block": ("wrn_70_16", "the further passes of the ODE block"),
    "ResNet-18": ("preact_resnet18", ""),  # the same convolutions, with the norms elsewhere
    "ResNet-50": ("resnet50", ""),
}
SHORT = {
    "Alfarra2020ClusTR": "ClusTR", "Amini2024MeanSparse_S-WRN-94-16": "MeanSparse", "Bai2023Improving_edm": "Adaptive mixing",
    "Bai2024MixedNUTS": "MixedNUTS", "Bartoldson2024Adversarial_WRN-94-16": "Scaling laws", "JinRinard2020Manifold": "Manifold",
    "Kang2021Stable": "Stable ODE", "Standard": "Standard", "WangZhang2019Bilateral": "Bilateral",
    "ZhangXu2020Adversarial": "Interpolation", "Salman2020Do_R50": "Robust ResNet-50", "Standard_R50": "Standard ResNet-50",
}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A row, in percent. `attacked` is what the strongest known attack left: AutoAttack, or another that the source names.
    `reported` is None where the authors gave nothing, `year` 0 where there is no paper."""

    slug: str
    data: str
    year: int
    clean: float
    attacked: float
    reported: float | None
    architecture: str

    @property
    def name(self) -> str:
        return SHORT.get(self.slug, self.slug)

    @property
    def graph(self) -> str:
        """The name of our graph; empty where none stands for the network."""
        return GRAPHS.get(self.architecture, ("", ""))[0]

    @property
    def uncounted(self) -> str:
        return GRAPHS.get(self.architecture, ("", ""))[1]

    @property
    def lost(self) -> float:
        """Points between what was reported and what is left."""
        return (self.reported or self.attacked) - self.attacked

    def sure(self, figure: str, confidence: float = 0.95) -> Share:
        trials = TESTED[self.data]
        return clopper_pearson(round(trials * float(getattr(self, figure)) / 100), trials, confidence)


@cache
def models(data: str) -> tuple[Model, ...]:
    rows = published(TABLE).where(dataset=data)
    return tuple(
        Model(
            str(row["model"]), data, year=_year(str(row["year"])), clean=float(row["clean"]), attacked=left(row),
            reported=None if math.isnan(float(row["reported"])) else float(row["reported"]), architecture=str(row["architecture"]),
        )
        for row in rows
    )  # fmt: skip


def left(row: Mapping[str, object]) -> float:
    """What the strongest known attack leaves. `min` keeps its first argument where the second is nan: no stronger attack is known."""
    return min(float(str(row["autoattack"])), float(str(row["external"])))


def model(data: str, slug: str) -> Model:
    return next(one for one in models(data) if one.slug == slug)


def count(data: str, column: str) -> int:
    """The number of models in the whole table, from which the rows were taken."""
    return int(published(COUNTS).value(column, dataset=data))


@cache
def others(data: str) -> tuple[tuple[float, float, int], ...]:
    """The models without a row, counted: where their box begins on both axes, and how many are in it."""
    return tuple(
        (float(row["clean"]), float(row["attacked"]), int(row["models"])) for row in published(BOXES).where(dataset=data)
    )  # fmt: skip


def data_of(lab: kit.Lab) -> str:
    return lab.current_context.slug if lab.current_context.slug in TESTED else CIFAR


def _year(text: str) -> int:
    match = re.search(r"(19|20)\d\d", text)
    return int(match[0]) if match else 0
