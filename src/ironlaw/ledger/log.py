"""SQLite's write-ahead log, read past SQLite, which stops without a word at the first page that is not as it was written.

The format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log. Each page carries the log's salts and a running checksum. A write
that was cut off (the process was killed) is an end without a commit, and nothing is wrong. A bad page with a commit behind it is damage:
those commits were acknowledged, and SQLite would show the ledger as it was before them.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER, FRAME = 32, 24  # bytes
MAGIC = {0x377F0682: "<", 0x377F0683: ">"}  # in which order of bytes the checksums are
CHECK_UP_TO = 16_000_000  # bytes: on opening; it takes about a second
PAUSE_S, TRIES = 0.02, 25  # while another process writes, what is read may be half of two states


@dataclass(frozen=True)
class Page:
    number: int
    size: int  # of the database in pages, where the page ends a commit; otherwise 0
    data: bytes
    whole: bool  # as it was written: salts and checksum, its own and those of all before it


def path_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def fault(database: Path, wholly: bool = True) -> str:
    """What is wrong with the log beside this file; empty if nothing is, or there is none."""
    before = b""
    for _ in range(TRIES):
        content = _read(path_of(database), wholly)
        reason = _fault(content)
        if not reason or content == before:
            return f"its log {path_of(database).name} is not as it was written: {reason}" if reason else ""
        before = content
        time.sleep(PAUSE_S)
    return ""  # it changes all the time: whoever writes it can read it


def pages(database: Path) -> list[Page]:
    """Every page of the log up to its last commit, whether SQLite would believe it or not."""
    return _committed(_read(path_of(database), wholly=True))


def _read(path: Path, wholly: bool) -> bytes:
    try:
        return path.read_bytes() if wholly or path.stat().st_size <= CHECK_UP_TO else b""
    except OSError:
        return b""  # there is none, or SQLite will say why it can't be read


def _fault(content: bytes) -> str:
    if len(content) < HEADER + FRAME:
        return ""
    committed = _committed(content)
    bad = next((place for place, page in enumerate(committed) if not page.whole), None)
    return "" if bad is None else f"page {bad + 1} of {len(committed)} is damaged, and SQLite leaves out all from there on"


def _committed(content: bytes) -> list[Page]:
    listed = list(_pages(content))
    last = max((place for place, page in enumerate(listed) if page.size), default=-1)
    return listed[: last + 1]


def _pages(content: bytes) -> Iterator[Page]:
    """The pages with the log's own salts; those behind them are from an earlier round."""
    if len(content) < HEADER + FRAME:
        return
    magic, _, size, _ = struct.unpack(">4I", content[:16])
    order = MAGIC.get(magic, "<")
    running, whole = (0, 0), magic in MAGIC
    running = _checksum(order, content[:24], running)
    whole = whole and running == struct.unpack(">2I", content[24:HEADER])
    if not _power_of_two(size):
        whole, size = False, 4096
    starts = range(HEADER, len(content) - FRAME - size + 1, FRAME + size)
    salts = content[16:24]
    if not whole and starts:  # the header itself may be what was changed
        salts = content[HEADER + 8 : HEADER + 16]
    own = [start for start in starts if content[start + 8 : start + 16] == salts]
    for start in range(HEADER, own[-1] + 1 if own else 0, FRAME + size):
        number, after = struct.unpack(">2I", content[start : start + 8])
        data = content[start + FRAME : start + FRAME + size]
        running = _checksum(order, content[start : start + 8] + data, running)
        whole = whole and start in own and running == struct.unpack(">2I", content[start + 16 : start + FRAME])
        yield Page(number, after, data, whole)


def _checksum(order: str, data: bytes, running: tuple[int, int]) -> tuple[int, int]:
    first, second = running
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _power_of_two(size: int) -> bool:
    return 512 <= size <= 65536 and size & (size - 1) == 0
