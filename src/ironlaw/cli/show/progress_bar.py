"""How far a long run is, on stderr: a bar on a terminal, a line now and then elsewhere. The standard library only."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import TextIO

WIDTH = 28
EVERY = 5.0  # seconds between lines where there is no terminal
PAINT = 0.1  # seconds between two paintings of the bar


class ProgressBar:
    """A Progress (share, what is being done) to use in a `with`; the bar is wiped at the end."""

    def __init__(self, stream: TextIO | None = None, columns: int = 0, after: float = 0.0) -> None:
        """`after`: seconds in which nothing is said, and nothing at all where there is no terminal."""
        self.stream = stream if stream is not None else sys.stderr
        self.live = self.stream is not None and self.stream.isatty()
        self.columns = columns or shutil.get_terminal_size().columns
        self.painted = float("-inf") if not after else time.monotonic() + after - PAINT if self.live else float("inf")

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.live:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def __call__(self, share: float, doing: str) -> None:
        now = time.monotonic()
        if self.stream is None or now - self.painted < (PAINT if self.live else EVERY):
            return
        self.painted = now
        share = min(max(share, 0.0), 1.0)
        if self.live:
            full = round(WIDTH * share)
            line = f"{'█' * full}{'░' * (WIDTH - full)} {share:4.0%}  {doing}"
            self.stream.write("\r" + line[: self.columns - 1] + "\x1b[K")
        else:
            self.stream.write(f"{share:4.0%}  {doing}\n")
        self.stream.flush()
