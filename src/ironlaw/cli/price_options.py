"""What a device costs: `--price` and `--latency`, in every command that speaks of money."""

from __future__ import annotations

from ironlaw.cli.options import Parser, checked, figure
from ironlaw.errors import BadValue


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
