"""`ironlaw cluster`: how to spread a model's training over many devices, what a step takes, and what failures leave of it."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_notes, add_parameters, ask
from ironlaw.cli.show import cluster_layouts, draw
from ironlaw.systems.questions.cluster import Cluster

EXAMPLE = """
ironlaw cluster llama3_70b --devices 1024 --box dgx_h100 --batch-tokens 4M
ironlaw cluster llama3_8b --devices 64 --box dgx_h100 --batch-tokens 1M --stack torchtitan --dtype fp8
ironlaw cluster gpt3_175b --devices 1024 --box dgx_a100 --batch-tokens 3M --top 3
ironlaw cluster llama3_405b --devices 16384 --box grand_teton_h100 --batch-tokens 16M --layout tp=8,pp=16,v=8,zero=1
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw cluster MODEL --devices N --box BOX --batch-tokens N [options]"
    add_parameters(parser, Cluster)
    add_notes(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = ask(Cluster, args)
    draw.emit(asked.to_json()) if args.json else cluster_layouts.report(asked.answer, args.notes)
    return 0
