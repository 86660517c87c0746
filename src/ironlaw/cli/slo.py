"""`ironlaw slo`: what a user sees of services in a row, from what each of them promises alone."""

from __future__ import annotations

import argparse

from ironlaw.cli import design_file
from ironlaw.cli.options import Parser
from ironlaw.cli.show import draw, promises
from ironlaw.systems.questions.slo import Slo

EXAMPLE = """
ironlaw slo --example
ironlaw slo design.toml
"""
DESIGN = """# Services that a request passes through one after the other, and the SLO for the whole.
[promise]
within = "500 ms"
quantile = 0.99
availability = 0.9995       # may be left out

[together]                  # may be left out
dependence = 0.2            # share of requests in which one cause makes all services slow at once
load = 0.6                  # load as a share of capacity, without retries
budget = 0.2                # most retries per request; leave it out for no limit

[[service]]
name = "gateway"
p99 = "20 ms"               # of one call
availability = 0.9999

[[service]]
name = "retrieval"
law = "lognormal"           # or exponential (the default), pareto
shape = 1.0                 # spread of the logarithm; for pareto, the index
p99 = "100 ms"
fan_out = 20                # calls at once; the slowest counts
hedge = 0.95                # a copy of each call after this quantile
availability = 0.999
replicas = 2
common = 0.1                # share of a replica's downtime that takes all of them down

[[service]]
name = "model"
p99 = "150 ms"
calls = 2                   # one after the other
timeout = "400 ms"
retries = 2
availability = 0.999
replicas = 3
common = 0.05
"""


def add(parser: Parser) -> None:
    design_file.add(parser, "slo")


def run(args: argparse.Namespace) -> int:
    if design_file.example(args, DESIGN):
        return 0
    asked = Slo.read(design_file.tables(args, "slo"))
    draw.emit(asked.to_json()) if args.json else promises.report(asked.answer)
    return 0 if asked.met else 1
