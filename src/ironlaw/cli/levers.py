"""`ironlaw levers`: what one more unit of each input brings, how much room each limit leaves, and the cheapest single fix."""

from __future__ import annotations

import argparse

from ironlaw.cli import design_file
from ironlaw.cli.options import Parser
from ironlaw.cli.show import draw, tornado_text
from ironlaw.systems.questions.levers import Levers

EXAMPLE = """
ironlaw levers --example
ironlaw levers design.toml
"""
DESIGN = """# Training a model of 70 billion parameters: which figure is worth working on?
[inputs]                                  # numbers, or figures with a unit
parameters = 70e9
tokens = 2e12
devices = 1024
rate = "989 TFLOP/s"
efficiency = 0.42                         # of the rate, in the step without communication
wire = "50 GB/s"                          # of each device, to others
batch = 4e6                               # tokens of a step
between_failures = "50000 h"              # of one device
save = "60 s"
restart = "5 min"

[formulas]                                # in order; each may use those above it
compute = "6 * parameters * batch / (devices * rate * efficiency)"
network = "4 * parameters / (wire * 8)"
step = "max(compute, network)"
interval = "best_interval(save, between_failures / devices)"
useful = "goodput(interval, save, restart, between_failures / devices)"
days = "step * tokens / batch / useful / 86400"

[limits]
days = { most = 25 }
useful = { least = 0.9 }

[dials]                                   # what may be changed, and to what
devices = [512, 1024, 2048]
wire = ["25 GB/s", "50 GB/s", "100 GB/s"]
save = ["10 s", "30 s", "60 s"]
"""


def add(parser: Parser) -> None:
    design_file.add(parser, "levers")


def run(args: argparse.Namespace) -> int:
    if design_file.example(args, DESIGN):
        return 0
    asked = Levers.read(design_file.tables(args, "levers"))
    draw.emit(asked.to_json()) if args.json else tornado_text.report(asked.answer)
    return 0 if asked.met else 1
