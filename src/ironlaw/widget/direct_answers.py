"""The short way from a dial to its picture: past what the lab itself computes, for states that are only passed through.

A registered piece answers whoever knows its token: the page that shows it, over the server's own socket (`/direct`).
The answer is the same view that the ordinary way gives, and nothing is stored: once the dials rest, the state comes the ordinary way.
"""

from __future__ import annotations

import gc
import json
import secrets
import threading
import weakref
from collections.abc import Callable
from string import ascii_letters
from typing import Any

LETTERS = 24  # of a token: 136 bits, and no digit in it that could be taken for a figure
PIECES: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
# name -> function that returns the piece; only this socket reaches these
HOSTED: dict[str, Callable[[], Any]] = {}
BETWEEN = 10_000  # new objects between two looks of the collector: one turn of a dial makes about as many, nearly all of them short-lived
OFFERED = threading.Event()  # set by a server that has the socket; in a notebook there is none


def spare_collector() -> None:
    """What is in memory now stays: the collector need not visit it while somebody turns a dial."""
    gc.freeze()
    gc.set_threshold(BETWEEN)


def register(piece: Any) -> str:
    """A token that nobody can guess, or none where nobody could use it. A piece that is gone no longer answers."""
    if not OFFERED.is_set():
        return ""
    token = "".join(secrets.choice(ascii_letters) for _ in range(LETTERS))
    PIECES[token] = piece
    return token


def reply(text: str) -> str:
    """The reply to a message `{"piece": token, "state": {…}}`: the view, or in one sentence why there is none."""
    try:
        message = json.loads(text)
        token, state = str(message["piece"]), dict(message["state"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return refusal("not a question; send {piece, state} as JSON")
    if token in HOSTED:
        view = HOSTED[token]().look(state)
    elif (piece := PIECES.get(token)) is not None:
        view = piece.look(state | {"moving": True})
    else:
        return refusal("this part of the page is out of date; load the page again")
    ahead = {"ahead": state.get("dials")} if state.get("ahead") else {}  # where the dials may stand next: the page keeps it
    answer = json.dumps({"piece": token, "view": view} | ahead, ensure_ascii=False, separators=(",", ":"))
    return answer if answer.isascii() else answer.encode("utf-8", "replace").decode()  # half a character can't be sent


def refusal(reason: str) -> str:
    return json.dumps({"error": reason})
