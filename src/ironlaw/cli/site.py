"""`ironlaw site`: the labs as a folder that any web host can serve; they run in the browser of whoever opens them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ironlaw.cli.options import Parser
from ironlaw.errors import BadValue

EXAMPLE = """
ironlaw site public
ironlaw site public --serve
ironlaw site public --runtime pyodide.tgz
ironlaw site public --scorm labs.zip
ironlaw site public --scorm lab07.zip --lab lab_07 --scorm-version 2004
"""


def add(parser: Parser) -> None:
    parser.usage = """ironlaw site OUT [--runtime FILE] [--assignment FILE] [--no-docs] [--serve] [--port N]
       ironlaw site OUT --scorm FILE [--lab LAB … | --assignment FILE] [--scorm-version V]"""
    parser.add_argument(
        "out", metavar="OUT", type=Path, help="the folder to write; an earlier site there is updated, your own files are left alone"
    )
    parser.add_argument(
        "--runtime", metavar="FILE", type=Path, help="use this Pyodide package from npm instead of downloading it; its release is checked"
    )
    parser.add_argument("--no-docs", action="store_true", help="leave out the documentation, which needs pip install 'ironlaw[docs]'")
    parser.add_argument(
        "--scorm", metavar="FILE", help="also pack the site for a course system (Moodle, Canvas, Blackboard) as this ZIP file"
    )
    parser.add_argument(
        "--lab",
        metavar="LAB",
        action="append",
        default=[],
        help="a lab that the package asks for; repeat it for several (default: all of them)",
    )
    parser.add_argument(
        "--assignment",
        metavar="FILE",
        help="an assignment, as `ironlaw class assign` wrote it: the site shows its questions, and the package asks for its labs",
    )
    parser.add_argument("--scorm-version", metavar="V", default="1.2", help="1.2, which every course system takes (default), or 2004")
    parser.add_argument("--serve", action="store_true", help="then serve the folder on this machine, to try it out")
    parser.add_argument("--port", metavar="N", type=int, default=8000, help="port to serve it on (default 8000; 0 for any free one)")


def run(args: argparse.Namespace) -> int:
    from ironlaw.site.build_site import build
    from ironlaw.site.serve import serve
    from ironlaw.units import show

    pack = _packer(args) if args.scorm else None
    if args.lab and not pack:
        raise BadValue("`lab` says what a package for a course system asks for; name the package too: --scorm labs.zip")
    if args.assignment and not pack:
        from ironlaw.classroom.assignment import adopt

        if not adopt(Path(args.assignment)).questions:
            raise BadValue(f"{args.assignment} has no questions of its own for the site to show; to pack its labs, add --scorm labs.zip")
    site = build(args.out, args.runtime, not args.no_docs, pack)
    print(f"{site.folder}: {site.files:,} files, {show(site.bytes, 'B')}, {show(site.gzipped, 'B')} where a host compresses")
    if args.scorm:
        print(f"{args.scorm}: upload it to your course as a SCORM package; docs/lms.md says how")
    if args.serve:
        serve(site.folder, args.port)
    else:
        print(f"Put the folder on any web host, or try it here: ironlaw site {args.out} --serve")
    return 0


def _packer(args: argparse.Namespace) -> Callable[[dict[str, bytes]], object]:
    """Writes the package; what is wrong with its options shows before the site is built."""
    from ironlaw.files import output, replace_bytes
    from ironlaw.site import scorm

    if args.lab and args.assignment:
        raise BadValue("`lab` and `assignment` both say what the package asks for; leave one out")
    asked = scorm.assigned(Path(args.assignment)) if args.assignment else scorm.chosen(args.lab)
    scorm.check_version(args.scorm_version)
    place = output(args.scorm, "the package", accepts=lambda head: head.startswith(b"PK"))
    return lambda content: replace_bytes(place, scorm.package(content, asked, args.scorm_version))
