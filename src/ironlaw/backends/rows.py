"""One row of evidence, typed. registry/evidence/FORMAT.md says what each kind of row means; `SCHEMA` is the version written here.

Times are seconds and sizes bytes. A field that was not measured is None. Fields that this version does not know stay in `extra`,
so that a row read and written again has lost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ironlaw.errors import BadRegistry

SCHEMA = "ironlaw-evidence/1"
LARGEST = 1e30  # beyond any time, count or size


@dataclass(frozen=True, slots=True)
class KernelTime:
    """One entry of a profile: launches of one name, and the seconds they took together."""

    name: str
    seconds: float
    count: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KernelTime:
        seconds, count = data.get("seconds", 0.0), data.get("count", 1.0)
        if not all(isinstance(value, (int, float)) and 0 <= value <= LARGEST for value in (seconds, count)):
            raise TypeError(f"{seconds!r} seconds, {count!r} launches")
        return cls(str(data["name"]), seconds, count)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "count": self.count, "seconds": self.seconds}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured once: an op, a launch, a function, a model."""

    kind: str
    op: str = ""
    name: str = ""  # of a function
    workload: str = ""  # of the registry
    model: str = ""  # where the registry has none
    params: Mapping[str, Any] = field(default_factory=dict)
    mode: str = ""
    variant: str = ""
    device: str = ""
    error: str = ""  # in place of the times
    wall_s: float | None = None  # one call from Python
    busy_s: float | None = None  # the device time of its kernels
    graph_s: float | None = None  # one of many calls replayed as a graph
    sync_s: float | None = None  # waited for after each call
    event_s: float | None = None
    piped_s: float | None = None  # queued calls
    compile_s: float | None = None
    startup_s: float | None = None  # the first function compiled in a process
    low_s: float | None = None  # 10% of the samples of `wall_s`
    high_s: float | None = None  # 90%
    best_s: float | None = None
    samples: int | None = None
    kernels: float | None = None
    kernel_times: tuple[KernelTime, ...] = ()  # "list" in a file
    working_set: float | None = None
    read_bytes: float | None = None
    written_bytes: float | None = None
    parameters: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        return str(self.params.get("dtype", ""))

    @classmethod
    def from_json(cls, data: Any, where: str = "a row of evidence") -> Row:
        """A row of a file or of a ledger, checked; `where` names it in an error."""
        if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
            raise BadRegistry(f"{where} is not an object with a kind; see evidence/FORMAT.md")
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in data.items():
            if key == "list":
                values["kernel_times"] = _kernel_times(value, where)
            elif key in _CHECKS:
                _CHECKS[key](value, f"{where}: {key}")
                values[key] = value
            else:
                extra[key] = value
        return cls(**values, extra=extra)

    def to_json(self) -> dict[str, Any]:
        """The row as a file holds it; what was not measured is left out."""
        data: dict[str, Any] = {}
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if name == "kernel_times" and value:
                data["list"] = [entry.to_json() for entry in value]
            elif value != default:
                data[name] = dict(value) if name == "params" else value
        return data | dict(self.extra)

    def value(self, name: str) -> float:
        """A figure that must have been measured: `row.value("wall_s")`."""
        figure = self.get(name)
        if isinstance(figure, bool) or not isinstance(figure, (int, float)):
            raise BadRegistry(f"{self.kind} row {self.op or self.name or self.workload or self.model!r} has no {name}; measure it again")
        return float(figure)

    def get(self, name: str) -> Any:
        """A field by name, then a parameter, then a field of a later version; None where there is none."""
        value = getattr(self, name) if name in _DEFAULTS else None
        if value in (None, "", ()):
            value = self.params.get(name, self.extra.get(name))
        return value


def _kernel_times(value: Any, where: str) -> tuple[KernelTime, ...]:
    try:
        return tuple(KernelTime.from_json(entry) for entry in value)
    except (TypeError, KeyError, AttributeError) as error:
        raise BadRegistry(f"{where}: list must hold objects with name, count and seconds ({error!r}); see evidence/FORMAT.md") from None


def _text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        raise BadRegistry(f"{where} is {value!r}, not text; see evidence/FORMAT.md")


def _number(value: Any, where: str) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST):  # nor NaN
        raise BadRegistry(f"{where} is {value!r}, not a finite number of at least 0; see evidence/FORMAT.md")


def _mapping(value: Any, where: str) -> None:
    if not isinstance(value, Mapping):
        raise BadRegistry(f"{where} is {value!r}, not an object; see evidence/FORMAT.md")


_DEFAULTS = {f.name: f.default for f in fields(Row) if f.name != "extra"} | {"params": {}}
_CHECKS = {f.name: _text if f.type == "str" else _number for f in fields(Row) if f.name not in ("extra", "kernel_times")} | {
    "params": _mapping
}
