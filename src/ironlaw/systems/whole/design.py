"""What can be decided about a system, what one may have more of, and the premises that nobody can turn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.registry.publications import published

MODEL, BOX, MACHINE, RUN = "llama3_70b", "grand_teton_h100", "h100_sxm", "llama3_2024"
SEQ, BATCH = 8192, 2048  # tokens of a sequence, sequences of a step
TOKENS = 15e12  # to train on
PER_PARAMETER = 14.0  # bytes of a save: weights in BF16, a master copy and Adam's two in FP32
STORAGE = 20e9  # bytes a second that the file system takes in
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


@dataclass(frozen=True, slots=True)
class Design:
    """Seconds, bytes and shares; the labs that decide each part are in `starts`."""

    gpus: int = 4096
    tensor: int = 8
    pipeline: int = 8
    context: int = 1
    virtual: int = 1
    recompute: str = "none"
    zero: int = 1
    nics: int = 8
    thin: float = 7.0  # oversubscription of the leaves
    scattered: float = 0.3  # of the nodes
    saving: str = SYNC
    near: str = NONE
    near_every: float = 60.0
    far_every: float = 3600.0
    group: int = 4  # devices of a replica
    replicas: int = 4
    spares: int = 0
    most: int = 128
    budget: int = 2048  # tokens of a step
    weights: str = "bf16"
    cache: str = "bf16"
    hedge: float = 1.0  # a copy of each request after this quantile; 1: none
    retries: int = 0
    hall: str = "usual"
    noise: float = 0.0  # noise multiplier of the fine-tuning; 0: none

    @property
    def layout(self) -> Layout:
        """As many replicas of the model as there are devices for; at least one."""
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
