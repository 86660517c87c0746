"""What a device costs: `--price` and `--latency`, where costs are shown only to who asks for them."""

from __future__ import annotations

from ironlaw.cli.options import Parser, checked, figure
from ironlaw.systems.registry_names import read_prices


def add_costs(parser: Parser) -> None:
    group = parser.add_argument_group("what it costs")
    group.add_argument(
        "--price", metavar="HW=N[,…]", type=checked(read_prices), nargs="?", const={},
        help="dollars an hour: h200=3.5; alone: those of registry/price",
    )  # fmt: skip
    group.add_argument("--latency", metavar="TIME", type=figure("s"), help="which machine and batch are cheapest within it, such as 50ms")
