"""`ironlaw privacy`: the (ε, δ) that a training run with DP-SGD proves, accountant by accountant, and what a budget leaves."""

from __future__ import annotations

import argparse

from ironlaw.cli import design_file
from ironlaw.cli.options import Parser
from ironlaw.cli.show import draw, private
from ironlaw.systems.questions.privacy import Privacy

EXAMPLE = """
ironlaw privacy --example
ironlaw privacy design.toml
"""
DESIGN = """# Training with DP-SGD: batches drawn at random, gradients clipped one by one, noise on their sum.
[data]
records = 60_000

[training]
batch = 256       # the mean; batches drawn record by record differ in size
noise = 1.1       # noise multiplier: standard deviation over clip norm
epochs = 60       # or steps = 14_062
runs = 1          # tuning runs on the same data count too

[promise]         # may be left out
epsilon = 3.0
delta = 1e-5      # default: one over ten times the records
"""


def add(parser: Parser) -> None:
    design_file.add(parser, "privacy")


def run(args: argparse.Namespace) -> int:
    if design_file.example(args, DESIGN):
        return 0
    asked = Privacy.read(design_file.tables(args, "privacy"))
    draw.emit(asked.to_json()) if args.json else private.report(asked.answer)
    return 0 if asked.met else 1
