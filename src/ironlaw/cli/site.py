"""`ironlaw site`: the labs as a folder that any web host can serve; they run in the browser of whoever opens them."""

from __future__ import annotations

import argparse
from pathlib import Path

from ironlaw.cli.options import Parser

EXAMPLE = """
ironlaw site public
ironlaw site public --serve
ironlaw site public --runtime pyodide.tgz
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw site OUT [--runtime FILE] [--no-docs] [--serve] [--port N]"
    parser.add_argument(
        "out", metavar="OUT", type=Path, help="the folder to write; an earlier site there is updated, your own files are left alone"
    )
    parser.add_argument(
        "--runtime", metavar="FILE", type=Path, help="use this Pyodide package from npm instead of downloading it; its release is checked"
    )
    parser.add_argument("--no-docs", action="store_true", help="leave out the documentation, which needs pip install 'ironlaw[docs]'")
    parser.add_argument("--serve", action="store_true", help="then serve the folder on this machine, to try it out")
    parser.add_argument("--port", metavar="N", type=int, default=8000, help="port to serve it on (default 8000; 0 for any free one)")


def run(args: argparse.Namespace) -> int:
    from ironlaw.site.build_site import build
    from ironlaw.site.serve import serve
    from ironlaw.units import show

    site = build(args.out, args.runtime, docs=not args.no_docs)
    print(f"{site.folder}: {site.files:,} files, {show(site.bytes, 'B')}, {show(site.gzipped, 'B')} where a host compresses")
    if args.serve:
        serve(site.folder, args.port)
    else:
        print(f"Put the folder on any web host, or try it here: ironlaw site {args.out} --serve")
    return 0
