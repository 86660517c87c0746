"""registry/run/*.toml -> published training runs: models' sizes, layouts, and what a step took."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape, token_flops
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry.loader import folder, normal, read, require_texts, slugs

TEXTS = ("name", "source", "date", "box", "dtype")
SIZES = ("tensor", "pipeline", "context", "expert", "virtual", "micro")
SHARED = ("seq", "zero", "overlap")
COUNTS = ("model", "hardware", "causal")  # with scores in full; and with recomputation; with half of the scores


@dataclass(frozen=True, slots=True)
class Run:
    """One published step. `seconds` is as published, or what the published FLOP/s of a device come to."""

    shape: Shape
    layout: Layout
    box: str
    batch: int
    seq: int
    dtype: str
    overlap: bool
    seconds: float
    source: str
    causal: bool = False  # the source's FLOPs count half of the scores

    @property
    def tokens(self) -> int:
        return self.batch * self.seq


def run_files() -> tuple[str, ...]:
    return slugs("run")


@cache
def about(slug: str) -> dict[str, Any]:
    """A publication's file, its texts checked."""
    if normal(slug) not in run_files():
        raise unknown("publication of runs", slug, run_files(), f"registry/run/{normal(slug)}.toml with its models and rows")
    data = read(folder("run") / f"{normal(slug)}.toml")
    require_texts(f"{slug}.toml", data, TEXTS)
    return data


def between_failures(slug: str) -> float:
    """Seconds between unexpected interruptions of the published run, all its devices together."""
    stops = about(slug)["interruptions"]
    return float(stops["days"]) * 86400.0 / float(stops["unexpected"])


def unit_between_failures(slug: str) -> float:
    """The same for one of its devices."""
    return between_failures(slug) * float(about(slug)["interruptions"]["devices"])


@cache
def published_shapes() -> dict[str, Shape]:
    """The models of all publications, by slug."""
    shapes: dict[str, Shape] = {}
    for slug in run_files():
        for name, sizes in about(slug).get("model", {}).items():
            if name in shapes:
                raise BadRegistry(f"{slug}.toml: model {name} is in another file already; give it another name")
            shapes[name] = _shape(slug, name, sizes)
    return shapes


@cache
def runs(slug: str) -> tuple[Run, ...]:
    """The rows of one publication."""
    data = about(slug)
    return tuple(_run(slug, data, {**{key: data[key] for key in SHARED if key in data}, **row}) for row in data.get("row", ()))


def _shape(slug: str, name: str, sizes: dict[str, Any]) -> Shape:
    try:
        given = {"kv_heads": sizes["heads"], "head_dim": sizes["hidden"] // sizes["heads"], **sizes}
        return Shape(**{**given, "name": name})
    except (KeyError, TypeError) as error:
        raise BadRegistry(f"{slug}.toml [model.{name}]: {error}; give layers, hidden, heads, ffn and vocab") from None


def _run(slug: str, data: dict[str, Any], row: dict[str, Any]) -> Run:
    shape = published_shapes().get(str(row.get("model")))
    if shape is None:
        raise BadRegistry(f"{slug}.toml: a row's model is {row.get('model')!r}; name one of its [model.…] tables")
    sizes = {key: row[key] for key in SIZES if key in row}
    replicas = row["devices"] // (sizes.get("tensor", 1) * sizes.get("pipeline", 1) * sizes.get("context", 1))
    more = {key: row[key] for key in ("recompute", "sequence_parallel", "zero") if key in row}
    layout = Layout(data=replicas, **sizes, **more)
    if layout.devices != row["devices"] or row.get("data", replicas) != replicas:
        raise BadRegistry(f"{slug}.toml: {row['model']} on {row['devices']} devices is not {layout}; check the row")
    return Run(
        shape, layout, data["box"], row["batch"], row["seq"], data["dtype"], bool(row.get("overlap", True)),
        _seconds(slug, shape, layout, row), f"{data['source']}, {data['date']}", row.get("counts") == "causal",
    )  # fmt: skip


def _seconds(slug: str, shape: Shape, layout: Layout, row: dict[str, Any]) -> float:
    if ("seconds" in row) == ("device_flops" in row):
        raise BadRegistry(f"{slug}.toml: a row of {shape.name} needs seconds, or device_flops and counts; give one of them")
    if "seconds" in row:
        return float(row["seconds"])
    if row.get("counts") not in COUNTS:
        raise BadRegistry(f"{slug}.toml: counts is {row.get('counts')!r}; say whether recomputation is in: {', '.join(COUNTS)}")
    recompute = layout.recompute if row["counts"] == "hardware" else "none"
    per_token = token_flops(shape, row["seq"], recompute, row["counts"] == "causal")
    return float(row["batch"] * row["seq"] * per_token / (row["device_flops"] * layout.devices))
