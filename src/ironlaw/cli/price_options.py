"""What a device costs: `--price` and `--latency`, in every command that speaks of money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ironlaw.cli.options import Parser, checked, figure
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue
from ironlaw.registry.prices import Price


@checked
def prices(text: str) -> dict[str, float]:
    """`h100=2.5,h200=3.5` -> dollars an hour, by slug."""
    from ironlaw import hardware

    table = {}
    for entry in text.split(","):
        name, equals, amount = entry.partition("=")
        try:
            value = float(amount.strip().lstrip("$"))
        except ValueError:
            value = -1.0
        if not equals or not 0 < value < 1e6:
            raise BadValue(f"{entry.strip()!r} is not a machine and its price; write dollars an hour as h200=3.5")
        table[hardware(name.strip()).slug] = value
    return table


def known_prices(asked: Iterable[Hardware], given: Mapping[str, float]) -> dict[str, Price]:
    """By slug: what was given, else the registry's. A price of a machine that is not asked about is refused."""
    from ironlaw.registry.prices import prices_of

    slugs = [machine.slug for machine in asked]
    for slug in given:
        if slug not in slugs:
            raise BadValue(f"--price {slug}=…: that machine is not asked about, but {', '.join(slugs)}; leave it out, or add it")
    return prices_of(slugs, given)


def add_price(parser: Parser) -> None:
    """Where money is part of the answer anyway."""
    parser.add_argument(
        "--price", metavar="HW=N[,…]", type=prices, default={}, help="dollars an hour for one device: h200=3.5 (else registry/price)"
    )


def add_costs(parser: Parser) -> None:
    """Where costs are shown only to who asks for them."""
    group = parser.add_argument_group("what it costs")
    group.add_argument(
        "--price", metavar="HW=N[,…]", type=prices, nargs="?", const={}, help="dollars an hour: h200=3.5; alone: those of registry/price"
    )
    group.add_argument("--latency", metavar="TIME", type=figure("s"), help="which machine and batch are cheapest within it, such as 50ms")
