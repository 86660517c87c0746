"""`ironlaw completion`: a script with which a shell completes commands, options and the names of models and machines."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser

EXAMPLE = """
ironlaw completion bash
ironlaw completion zsh
ironlaw completion fish
"""
SHELLS = ("bash", "zsh", "fish")


def add(parser: Parser) -> None:
    parser.usage = "ironlaw completion bash|zsh|fish"
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish; prints the script to load in that shell")


def run(args: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["ironlaw"], shell=args.shell).strip())
    return 0
