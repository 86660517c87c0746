"""The secret of a running server: chosen or random, and two files that only its user can read.

`<port>.token` lets a server that was killed come back with the same secret, so that pages which are open find it again; a clean stop
removes it. It may come back for a few minutes only: meanwhile those pages show their cookie to whoever has taken the port, and with the
secret that cookie would be valid again. `<port>.html` sends a browser to the address: an address on a command line could be read by
everybody (`ps`).
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from html import escape
from pathlib import Path

from ironlaw import home
from ironlaw.errors import BadValue, IronlawError

FOLDER = "server"
VARIABLE = "IRONLAW_LABS_TOKEN"
LENGTH = 16  # characters that a chosen one needs at least
VALID = re.compile(rf"[A-Za-z0-9._~-]{{{LENGTH},200}}")  # as it is in an address
FRESH_S, AGAIN_S = 20.0, 300.0  # how often a server that runs says so; how long after the last time its secret may come back


def checked(token: str, source: str) -> str:
    """A token that somebody chose, if it will do. The error does not repeat it."""
    if not VALID.fullmatch(token):
        raise BadValue(
            f"{source} is not a valid token; give {LENGTH} to 200 letters, digits, dots, hyphens, underscores or tildes, "
            f"such as the output of: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def token(port: int, chosen: str | None = None) -> str:
    """The chosen one, else that of the environment, else that of a server which was killed at this port, else a random one."""
    if chosen is not None:
        return checked(chosen, "--token")
    if value := os.environ.get(VARIABLE, ""):
        return checked(value, VARIABLE)
    random = left_behind(port) or secrets.token_urlsafe(32)
    with suppress(OSError, IronlawError):  # without it, pages have to be opened anew after a crash
        write(f"{port}.token", random)
    return random


def left_behind(port: int) -> str | None:
    """The token of a server that was killed less than five minutes ago. Nobody else may have been able to read or write it."""
    try:
        path = home.folder() / FOLDER / f"{port}.token"
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or time.time() - status.st_mtime > AGAIN_S:
            return None
        if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o077):
            return None
        text = path.read_text("ascii")
    except (OSError, ValueError, IronlawError):
        return None
    return text if VALID.fullmatch(text) else None


async def keep_fresh(port: int, token: str | None) -> None:
    """Touches the token's file as long as the server runs, if that token may be used again."""
    while left_behind(port) == token:
        with suppress(OSError, IronlawError):
            os.utime(home.folder() / FOLDER / f"{port}.token")
        await asyncio.sleep(FRESH_S)


def redirect_file(port: int, address: str) -> Path:
    """A page that leads to the address, for a browser that this user opens."""
    place = escape(address)
    return write(
        f"{port}.html",
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>ironlaw</title><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={place}"><p><a href="{place}">Open the labs</a></p></html>\n',
    )


def forget(port: int) -> None:
    """Removes both files after a clean stop, so that nothing is left that lets anybody in."""
    for name in (f"{port}.token", f"{port}.html"):
        with suppress(OSError, IronlawError):
            (home.folder() / FOLDER / name).unlink(missing_ok=True)


def write(name: str, text: str) -> Path:
    """Into a folder that only this user can enter; the file itself is created with mode 600."""
    path = home.path(FOLDER, name)
    if os.name == "posix":
        path.parent.chmod(0o700)
    return home.replace_text(path, text)
