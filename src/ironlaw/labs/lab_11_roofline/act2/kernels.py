"""The message's three kernels of Act II, at the prediction's own settings: their work, and their places under the H100's roof."""

from __future__ import annotations

from functools import lru_cache

from ironlaw.engine.device.roofline import gemm_intensity, roofline
from ironlaw.engine.device.types import Tensor, Work, bytes_per_element
from ironlaw.engine.device.work import op
from ironlaw.kit.prose import Markup
from ironlaw.labs.lab_11_roofline.act2.layer import settings_of
from ironlaw.labs.lab_11_roofline.intensity import per_byte
from ironlaw.labs.lab_11_roofline.machines import short
from ironlaw.pictures.roofs import Dot, distinct, roofs, roofs_by_work
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.widget.figure import Figure, Mark, mark

MODEL, DEVICE, FMT = "llama3_8b", "h100_sxm", "fp16"
BATCH, SEQUENCE = 8, 512  # questions.toml states the same
NAMES = {"few": "projection (decode)", "many": "projection (prefill)", "norm": "RMSNorm", "softmax": "softmax"}
# which of the three an option calls memory-bound
CLAIMED = {"gemm": ("few", "many"), "split": ("few", "norm", "softmax"), "alike": tuple(NAMES), "norm": ("few", "softmax")}


def rows() -> tuple[int, int]:
    """Rows of a step of decoding, and of a prefill."""
    return BATCH, BATCH * SEQUENCE


@lru_cache(maxsize=1)
def works() -> dict[str, Work]:
    params = settings_of(MODEL)
    d, heads = params["hidden"], params["heads"]
    few, many = rows()
    w = Tensor("w", (d, d), FMT, "weight")
    wide, scores = (many, d), (BATCH, heads, SEQUENCE, SEQUENCE)
    return {
        "few": op("linear", "few", (Tensor("x", (few, d)), w), (Tensor("y", (few, d)),)).work,
        "many": op("linear", "many", (Tensor("x", wide), w), (Tensor("y", wide),)).work,
        "norm": op("rms_norm", "norm", (Tensor("x", wide),), (Tensor("y", wide),)).work,
        "softmax": op("softmax", "softmax", (Tensor("x", scores),), (Tensor("y", scores),)).work,
    }


def intensity(name: str, transfers: int = 2) -> float:
    """Operations per byte. An element-wise kernel moves each element `transfers` times."""
    work = works()[name]
    return float(work.flops / (work.bytes * transfers / 2))


def bound(name: str) -> str:
    work = works()[name]
    return str(roofline(work.flops, work.bytes, hardware(DEVICE), FMT, work=work.kind).regime)


def crossing() -> int:
    """Rows from which the projection is compute-bound."""
    d, ridge = settings_of(MODEL)["hidden"], float(hardware(DEVICE).ridge(FMT))
    return next(rows for rows in range(1, 1 << 16) if gemm_intensity(rows, d, d, bytes_per_element(FMT)) >= ridge)


def place(name: str) -> Markup:
    return Markup(f"{per_byte(intensity(name), FMT)}, {bound(name)}-bound")


@lru_cache(maxsize=8)
def picture(claim: str | None) -> Figure:
    """The prediction's own case: four points, and a mark on those that the learner called memory-bound."""
    above = roofs_by_work(hardware(DEVICE), FMT, short(DEVICE))
    roof = above["matrix"]
    dots = [
        Dot(
            name,
            NAMES[name],
            float(work.flops),
            float(work.bytes),
            above[work.kind],
            label=NAMES[name],
            colour=bound(name),
            size=6,
            more=(("role", "truth"),) if claim and bound(name) == "memory" else (),
        )
        for name, work in works().items()
    ]
    note = f"{roof.name}, {about(MODEL)['name']}" + ("; ◇ what you called memory-bound; bold is what really is" if claim else "")
    return roofs(
        distinct(above),
        dots,
        (0.1, 1e4),
        "kernels",
        f"{sum(bound(name) == 'memory' for name in NAMES)} of {len(NAMES)} points are memory-bound",
        _marks(claim, dots),
        note,
        height=320,
        export=False,
    )


def _marks(claim: str | None, dots: list[Dot]) -> list[Mark]:
    return [
        mark(
            "point", "accent", x=dot.intensity, y=dot.height, shape="diamond", size=12, hollow=True, role="prediction", id=f"said-{dot.id}",
            name=f"you said: {dot.name} is memory-bound",
            hover=[("it is", f"{bound(dot.id)}-bound"), ("intensity", dot.figures["AI"])],
        )
        for dot in dots
        if dot.id in CLAIMED.get(claim or "", ())
    ]  # fmt: skip
