"""Registry files -> values. A folder listing is the registry; every figure must carry its source."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadRegistry, BadValue, unknown
from ironlaw.formats import FORMATS, rate_unit
from ironlaw.units import parse

if TYPE_CHECKING:
    from ironlaw.engine.device.machine import Figure

HERE = Path(__file__).parent
SOURCED = " (every figure carries its source)"


def folder(kind: str) -> Path:
    """Where a kind of registry file lies: hardware, workload, claims, evidence."""
    return HERE / kind


@cache
def slugs(kind: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder(kind).glob("*.toml")))


def read(path: Path) -> dict[str, Any]:
    """One TOML file; a syntax error names the file and line."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise BadRegistry(f"{path.name}: {error}; fix the TOML there") from None
    except UnicodeDecodeError as error:
        raise BadRegistry(f"{path.name}: {error}; store the file as UTF-8") from None
    except RecursionError:
        raise BadRegistry(f"{path.name}: its lists or tables are nested too deeply; write them flat") from None


def open_by_name(kind: str, name: str, label: str, file: str) -> tuple[str, dict[str, Any]]:
    """The slug and the file of what somebody calls so. `file`: what to write for a new one, after its path."""
    slug = normal(name)
    if slug not in slugs(kind):
        raise unknown(label, name, slugs(kind), f"registry/{kind}/{slug}.toml{file}")
    return slug, read(folder(kind) / f"{slug}.toml")


def require(where: str, table: Any, keys: Iterable[str], why: str = "") -> None:
    """Each key has something: no empty text or table, and no 0."""
    for key in keys:
        if not isinstance(table, Mapping) or not table.get(key):
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there{why}")


def require_texts(where: str, table: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Each key has a text that is not blank."""
    require(where, {key: isinstance(table.get(key), str) and table[key].strip() for key in keys}, keys, SOURCED)


def normal(name: str) -> str:
    """What people type -> how slugs and aliases are spelt: `"H100-SXM"` -> `"h100_sxm"`."""
    return "_".join(str(name).strip().lower().replace("-", " ").replace("_", " ").split())


def figure(where: str, table: Any, unit: str, fmt: str = "") -> Figure:
    """A sourced number. Without value, source or date it is refused; an estimate must say why."""
    from ironlaw.engine.device.machine import Figure  # here, since the registry's names alone need no engine

    if not isinstance(table, Mapping):
        raise BadRegistry(f"{where} is {table!r}; write a table with value, source and date")
    for key in ("value", "source", "date"):
        if not str(table.get(key, "")).strip():
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there{SOURCED}")
    if table.get("estimate") and not table.get("why"):
        raise BadRegistry(f"{where} is an estimate without a reason; add `why = …` there")
    if fmt and fmt not in FORMATS:
        raise BadRegistry(f"{where}: unknown number format {fmt!r}; known: {', '.join(FORMATS)}")
    value = quantity(where, table["value"], unit)
    unit = rate_unit(fmt) if fmt else unit
    return Figure(value, unit, str(table["source"]), str(table["date"]), fmt, bool(table.get("estimate", False)), str(table.get("why", "")))


# what a figure of each unit may look like
EXAMPLES = {"B": "80 GB", "B/s": "3.35 TB/s", "FLOP/s": "989 TFLOP/s", "s": "8.5 us", "USD": "2.49 USD", "W": "700 W", "Hz": "1410 MHz"}


def quantity(where: str, text: Any, unit: str) -> float:
    """A positive figure in its unit; the error says where it stands."""
    if not isinstance(text, str) or not any(c.isalpha() for c in text.lower().replace("e", "")):
        example = EXAMPLES.get(unit, f"1 {unit}")
        raise BadRegistry(f"{where}: {text!r} has no unit; write it as text with its unit, such as '{example}'")
    try:
        value = parse(text, unit)
    except BadValue as error:
        raise BadRegistry(f"{where}: {error}") from None
    if value <= 0:
        raise BadRegistry(f"{where}: {text!r} must be above 0")
    return value
