"""What can be decided about a system, what one may have more of, and the premises that nobody can turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.registry.publications import published
from ironlaw.systems.fields import among
from ironlaw.units import show

MODEL, BOX, MACHINE, RUN = "llama3_70b", "grand_teton_h100", "h100_sxm", "llama3_2024"
SEQ, BATCH = 8192, 2048  # tokens of a sequence, sequences of a step
TOKENS = 15e12  # to train on
PER_PARAMETER = 14.0  # bytes of a save: weights in BF16, a master copy and Adam's two in FP32
STORAGE = 20e9  # bytes per second that the file system takes in
DETECT, RESTART, PAUSE = 120.0, 180.0, 1.0  # seconds
HOST_UP, ONE_HOST = 0.60, 0.95  # of failures: those that leave the host up, and those that take one host at most
LOAD = 4.0  # times the trace's own rate
REPAIR = 24 * 3600.0  # seconds until a failed replica is back
COMMON = 0.1  # of a replica's downtime takes all of them down
FAILING = 0.002  # of attempts fail for reasons of their own
RECORDS, TUNING_BATCH, EPOCHS, DELTA = 1_000_000, 1024, 3, 1e-7  # of the fine-tuning
RADIX = 64  # ports of a switch

NONE, HOST, NEIGHBOUR = "none", "host", "neighbour"
SYNC, ASYNC = "sync", "async"
SURVIVES = {NONE: 0.0, HOST: HOST_UP, NEIGHBOUR: ONE_HOST}


@dataclass(frozen=True, slots=True)
class Hall:
    """Where the machines stand: grams of CO₂ a kWh of its grid, and what the building draws over what its machines do."""

    slug: str
    name: str
    grams_per_kwh: float
    pue: float
    grid: str  # what ran on it


# hall -> (its name, whose grid it is on, PUE): the grids are published, what a building adds is a premise
HALLS = {"new": ("New hall", "us_central1", 1.10), "usual": ("Usual hall", "gpt3", 1.20), "old": ("Old hall", "jean_zay", 1.25)}


@cache
def halls() -> dict[str, Hall]:
    table = published("grid_carbon")
    return {
        slug: Hall(slug, name, float(table.value("grams", site=grid)), pue, str(table.row(site=grid)["what"]))
        for slug, (name, grid, pue) in HALLS.items()
    }


def _menu(options: Sequence[Any] | Mapping[Any, str], default: Any, label: str, shown: Callable[[Any], str] | None = None) -> Any:
    """One of a few values, with the words for each."""
    words = (
        {} if isinstance(options, Mapping) else {"shown": shown or (lambda value: f"{value:,}" if isinstance(value, int) else f"{value:g}")}
    )
    return among(options, default, label, dial="select", **words)


def _seconds(value: float) -> str:
    return show(value, "s")


def _unless(nothing: float, word: str, words: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: word if value == nothing else words(value)


@dataclass(frozen=True, slots=True)
class Design:
    """What is decided of a system; seconds, bytes and shares."""

    gpus: int = _menu((1024, 2048, 4096, 8192), 4096, "Training GPUs")
    tensor: int = _menu((1, 2, 4, 8), 8, "Tensor parallelism (TP)")
    pipeline: int = _menu((1, 2, 4, 8, 16), 8, "Pipeline stages")
    context: int = _menu((1, 2, 4), 1, "Context parallelism (CP)")
    virtual: int = _menu((1, 2, 4, 5), 1, "Chunks per stage")
    recompute: str = _menu({"none": "nothing", "full": "all of a layer"}, "none", "Recompute")
    zero: int = _menu((1, 2), 1, "ZeRO stage")
    nics: int = _menu((1, 2, 4, 8), 8, "NICs per server")
    thin: float = _menu((1.0, 1.5, 2.0, 3.0, 4.0, 7.0), 7.0, "Spine oversubscription", "{:g}:1".format)  # of the leaves
    scattered: float = _menu((0.0, 0.1, 0.3, 1.0), 0.3, "Nodes out of place", _unless(0.0, "none", lambda x: f"{100 * x:g}%"))
    saving: str = _menu({SYNC: "until stored", ASYNC: "until in host memory"}, SYNC, "A far save stops the job")
    near: str = _menu({NONE: "nowhere", HOST: "host memory", NEIGHBOUR: "a neighbour's too"}, NONE, "Near copies in")
    near_every: float = _menu((30.0, 60.0, 120.0, 300.0, 600.0), 60.0, "Near copies every", _seconds)
    far_every: float = _menu((30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 43_200.0), 3600.0, "Far saves every", _seconds)
    group: int = _menu((2, 4, 8), 4, "GPUs per replica")
    replicas: int = _menu((2, 3, 4, 6, 8, 12), 4, "Replicas for the load")
    spares: int = _menu((0, 1, 2, 3), 0, "Spare replicas")
    most: int = _menu((16, 32, 64, 128, 256), 128, "Requests per batch, at most")
    budget: int = _menu((128, 256, 512, 1024, 2048), 2048, "Tokens per step, at most")
    weights: str = _menu({"bf16": "BF16", "fp8": "FP8"}, "bf16", "Weight format for serving")
    cache: str = _menu({"bf16": "BF16", "fp8": "FP8"}, "bf16", "Cache format")
    hedge: float = _menu((0.9, 0.95, 0.99, 1.0), 1.0, "Hedged copy after", _unless(1.0, "never", lambda x: f"P{100 * x:g}"))
    retries: int = _menu((0, 1, 2, 3), 0, "Retries")
    hall: str = _menu({slug: name for slug, (name, *_) in HALLS.items()}, "usual", "Data hall")
    # noise multiplier of the fine-tuning
    noise: float = _menu((0.0, 0.5, 0.6, 0.7, 0.8, 1.0, 1.5), 0.0, "Noise in fine-tuning", _unless(0.0, "none", "{:g}".format))

    @property
    def layout(self) -> Layout:
        """A layout with as many replicas of the model as there are devices for; at least one."""
        data = max(1, self.gpus // (self.tensor * self.pipeline * self.context))
        return Layout(self.tensor, self.pipeline, self.context, data, virtual=self.virtual, recompute=self.recompute, zero=self.zero)

    @property
    def serving(self) -> int:
        """Devices that serve, spare ones too."""
        return self.group * (self.replicas + self.spares)


@dataclass(frozen=True, slots=True)
class Faster:
    """How many times as fast, or as long, as it is: the levers."""

    flops: float = 1.0
    hbm: float = 1.0
    nvlink: float = 1.0
    nics: float = 1.0
    mtbf: float = 1.0
    host: float = 1.0
    storage: float = 1.0
