"""Names of the registry, read from what people write: machines, models, number formats, prices.

The registry and the engine are imported on first use, so that a command's help answers at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadValue, unknown
from ironlaw.formats import computed_in, spelled
from ironlaw.systems.fields import REQUIRED, one_of, several
from ironlaw.systems.value_readers import read_option

if TYPE_CHECKING:
    from ironlaw.engine.device.machine import Hardware
    from ironlaw.registry.prices import Price


def read_machine(name: str | Hardware) -> Hardware:
    from ironlaw.engine.device.machine import Hardware
    from ironlaw.registry.machines import hardware

    return name if isinstance(name, Hardware) else hardware(name)


def read_mode(name: str) -> str:
    from ironlaw.engine.device.machine import MODES

    return str(read_option(name, MODES, "mode"))


def read_format(name: str) -> str:
    return str(read_option(spelled(name), [fmt for fmt in _formats() if computed_in(fmt) == fmt], "number format"))


def _formats() -> Iterable[str]:
    from ironlaw.engine.device.types import FORMATS

    return FORMATS


def read_prices(given: str | Mapping[str, Any]) -> dict[str, float]:
    """`h100=2.5,h200=3.5`, or a mapping -> dollars per hour, by slug."""
    from ironlaw.registry.machines import hardware

    pairs = [entry.partition("=")[::2] for entry in given.split(",")] if isinstance(given, str) else list(given.items())
    table = {}
    for name, amount in pairs:
        try:
            value = float(str(amount).strip().lstrip("$"))
        except ValueError:
            value = -1.0
        if not 0 < value < 1e6:
            entry = f"{name}={amount}" if amount else name
            raise BadValue(f"{entry.strip()!r} is not a machine and its price; write dollars per hour as h200=3.5")
        table[hardware(name.strip()).slug] = value
    return table


def known_prices(asked: Iterable[Hardware], given: Mapping[str, float]) -> dict[str, Price]:
    """The price for each slug: what was given, else the registry's. A price of a machine that is not asked about is refused."""
    from ironlaw.registry.prices import prices_of

    every = [machine.slug for machine in asked]
    for slug in given:
        if slug not in every:
            raise BadValue(f"`price={slug}=…` names a machine you did not ask about ({', '.join(every)}); leave it out, or add the machine")
    return prices_of(every, given)


def models() -> tuple[str, ...]:
    from ironlaw.registry.workloads import workloads

    return tuple(workloads())


def _model(name: str) -> str:
    from ironlaw.registry.loader import normal

    if normal(name) not in models():
        raise unknown("model", name, models(), field="model")
    return normal(name)


def _slugs() -> tuple[str, ...]:
    from ironlaw.registry.loader import slugs

    return tuple(slugs("hardware"))


def _slug(name: str) -> str:
    from ironlaw.registry.machines import registered

    return registered(name).slug


def machines(default: Any = REQUIRED, about: str = "machines, by slug or alias; see `ironlaw hardware`", **rest: Any) -> Any:
    """One or more of them, as a tuple."""
    return several(read_machine, default, about=about, metavar="HW[,HW]", **rest)


def machine() -> Any:
    """One, by its slug."""
    return one_of(_slugs, find=_slug, about="a machine of the registry, by slug or alias")


def model() -> Any:
    return one_of(models, find=_model, about="a model of the registry")


def number_format(about: str, default: Any = REQUIRED) -> Any:
    return one_of(_formats, default, find=read_format, about=about)
