"""`ironlaw memory`: where the bytes of a training step go, what fits, and what each change would free."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_parameters, ask
from ironlaw.cli.show import draw, training_memory_text
from ironlaw.systems.questions.memory import Memory

EXAMPLE = """
ironlaw memory gpt2 --batch 8 --seq 1024 --on rtx_4090
ironlaw memory llama3_2_1b --batch 4 --seq 2048 --recipe mixed --checkpoint all --loss-chunks 8 --on rtx_4090,a100_80gb_sxm
ironlaw memory llama3_8b --qlora --batch 1 --seq 2048 --on rtx_4090
ironlaw memory my.py:model --input 8x3x224x224 --recipe autocast --on t4
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw memory WORKLOAD|FILE.py:NAME [options]"
    add_parameters(parser, Memory)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = ask(Memory, args)
    draw.emit(asked.to_json()) if args.json else training_memory_text.report(asked.answer)
    return 0
