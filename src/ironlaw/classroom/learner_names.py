"""What learners and files are called in the report: as given, or by pseudonyms.

A pseudonym is a keyed hash (HMAC-SHA-256) of the ledger's id: the same learner has the same one in the page and in every CSV file, and
nobody can find the learner without the key. The key is drawn anew for each report and forgotten, unless a file is named for it.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ironlaw.classroom.hand_ins import HandIn, HandIns
from ironlaw.errors import BadValue
from ironlaw.files import regular, replace_text

KEY = re.compile(r"ironlaw-class-key ([0-9a-f]{64})\s*")
SHORTEST = 4  # characters of a pseudonym; more where two learners would share one


@dataclass(frozen=True)
class Naming:
    learner: Callable[[HandIn], str]
    file: Callable[[str], str]
    pseudonyms: bool


def as_given(hand_ins: HandIns) -> Naming:
    """The name that the learner entered, else the file's; names that two learners share are followed by the file."""
    shared = Counter(ledger.name.casefold() for ledger in hand_ins.ledgers)

    def call(ledger: HandIn) -> str:
        if not ledger.name:
            return ledger.file
        return f"{ledger.name} ({ledger.file})" if shared[ledger.name.casefold()] > 1 else ledger.name

    return Naming(call, str, False)


def pseudonyms(hand_ins: HandIns, key: bytes | None = None) -> Naming:
    """Files are numbered in an order that says nothing either."""
    key = key or secrets.token_bytes(32)
    codes = {ledger.learner: _code(key, ledger.learner) for ledger in hand_ins.ledgers}
    length = SHORTEST
    while len({code[:length] for code in codes.values()}) < len(codes):
        length += 1
    names = {ledger.file: f"file of learner {codes[ledger.learner][:length]}" for ledger in hand_ins.ledgers}
    others = sorted({refusal.file for refusal in hand_ins.refused} - names.keys(), key=lambda file: _code(key, file))
    names |= {file: f"file {number}" for number, file in enumerate(others, 1)}
    return Naming(lambda ledger: f"learner {codes[ledger.learner][:length]}", lambda file: names.get(file, "a file"), True)


def _code(key: bytes, text: str) -> str:
    digest = hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").digest()
    return base64.b32encode(digest).decode().rstrip("=")


def key_from(place: str | Path) -> bytes:
    """The key in a file; where there is none yet, one is drawn and written there, readable by its owner alone."""
    path = regular(place, "the key")
    try:
        if not path.exists():
            key = secrets.token_bytes(32)
            replace_text(path, f"ironlaw-class-key {key.hex()}\n", private=True)
            return key
        match = KEY.fullmatch(path.read_text(encoding="ascii"))
    except OSError as error:
        raise BadValue(f"the key {place} can't be read or written ({error.strerror or error}); name another file") from None
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise BadValue(f"{place} is not a key that `ironlaw class report --key` wrote; name another file, or one that does not exist yet")
    return bytes.fromhex(match[1])
