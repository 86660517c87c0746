"""registry/textbook/*.toml -> models as the course states them: equal kernels, and what compiling costs and brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import open_by_name, quantity, slugs


@dataclass(frozen=True, slots=True)
class Textbook:
    """Equal kernels by hand. Seconds; rates in calls per second; None where the course says nothing."""

    slug: str
    name: str
    kernels: int
    kernel_s: float
    removed: float  # share of the launches that compiling takes away
    source: str
    date: str
    compile_s: float | None = None
    gain: float | None = None  # 0.48: compiled is 48% faster
    eager_rate: float | None = None
    compiled_rate: float | None = None
    per_hour: float | None = None
    compiled_source: str = ""

    @property
    def compute_s(self) -> float:
        """Device time of all kernels; memory is in it."""
        return self.kernels * self.kernel_s


def textbooks() -> tuple[str, ...]:
    return slugs("textbook")


@cache
def textbook(name: str) -> Textbook:
    """A model of the course by its slug: `textbook("kws")`."""
    slug, data = open_by_name("textbook", name, "textbook model", " with kernels, kernel and removed")
    where = f"textbook {slug}"
    for key in ("name", "kernels", "kernel", "removed", "source", "date"):
        if data.get(key, "") == "":
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
    if not (isinstance(data["kernels"], int) and data["kernels"] > 0 and 0 <= data["removed"] < 1):
        raise BadRegistry(f"{where}: kernels must be a whole number above 0 and removed a share below 1; fix them there")
    kernel = quantity(f"{where}: kernel", data["kernel"], "s")
    more = _compiled(where, data["compiled"]) if "compiled" in data else {}
    return Textbook(slug, data["name"], data["kernels"], kernel, float(data["removed"]), data["source"], str(data["date"]), **more)


def _compiled(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("compile", "source", "date"):
        if not table.get(key):
            raise BadRegistry(f"{where} [compiled] has no {key}; add `{key} = …` there")
    eager, compiled, gain = (table.get(key) for key in ("eager_rate", "compiled_rate", "gain"))
    if (gain is None) == (eager is None) or (eager is None) != (compiled is None):
        raise BadRegistry(f"{where} [compiled]: give either gain, or eager_rate and compiled_rate")
    if gain is None:
        gain = float(table["compiled_rate"]) / float(table["eager_rate"]) - 1.0
    return {
        "compile_s": quantity(f"{where} [compiled] compile", table["compile"], "s"),
        "gain": float(gain),
        "eager_rate": None if eager is None else float(eager),
        "compiled_rate": None if compiled is None else float(compiled),
        "per_hour": table.get("per_hour"),
        "compiled_source": f"{table['source']}, {table['date']}",
    }
