"""`ironlaw labs`: serve the labs on this machine and open a browser."""

from __future__ import annotations

import argparse
from typing import Any

from ironlaw.cli.options import Parser, checked
from ironlaw.errors import BadValue, unknown

EXAMPLE = """
ironlaw labs
ironlaw labs 01
ironlaw labs --port 8080 --no-browser
"""


DEFAULT = 2718
PAGES, MOST_PAGES = 250, 5000


@checked
def port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise BadValue(f"{text!r} is not a port; give a whole number from 1 to 65535, such as 8080, or 0 for any that is free")
    return int(text)


@checked
def pages(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PAGES:
        raise BadValue(f"{text!r} is not a number of labs; give a whole number from 1 to {MOST_PAGES:,}, such as {PAGES}")
    return int(text)


def add(parser: Parser) -> None:
    parser.usage = "ironlaw labs [NAME] [--port N] [--pages N] [--no-browser] [--token VALUE | --no-token]"
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the lab to open, such as 01 or lab_01_magnitude; without it, the start page"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=port,
        default=DEFAULT,
        help=f"port to listen on (default {DEFAULT}); the next free one if it is taken",
    )
    parser.add_argument(
        "--pages",
        metavar="N",
        type=pages,
        help=f"how many labs may be open at once (default {PAGES}); whoever opens one more gets a message",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "--token",
        metavar="VALUE",
        help="the secret in the address (default: a random one); other users can see command lines, so IRONLAW_LABS_TOKEN is safer",
    )
    who.add_argument("--no-token", action="store_true", help="let every user of this machine in")


def run(args: argparse.Namespace) -> int:
    chosen: dict[str, Any] = {} if args.name is None else {"lab": known(args.name)}
    from ironlaw.server import serve

    if args.token == "":
        raise BadValue("--token is empty; give a value, or --no-token to let in every user of this machine")
    serve(port=args.port, pages=args.pages, open_browser=not args.no_browser, token="" if args.no_token else args.token, **chosen)
    return 0


def known(name: str) -> str:
    """The slug of the lab that is meant; the folder is the registry."""
    from ironlaw.pages.lab_catalogue import every_lab, resolve

    labs = every_lab()
    lab = resolve(name)
    if lab is None:
        raise unknown("lab", name, [lab.slug for lab in labs])
    if not lab.ready:
        raise BadValue(f"{lab.name}, {lab.title}, {lab.error}; open the start page with: ironlaw labs")
    return lab.slug
