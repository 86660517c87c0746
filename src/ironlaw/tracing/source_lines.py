"""A line of code in words: the innermost one that is neither PyTorch's, nor Python's, nor ours."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import FrameType

OPENS = ("(", "[", "{")
DEPTH = 240  # frames to look through


@cache
def _passed_over() -> tuple[str, ...]:
    import torch

    library = Path(torch.__file__).parent
    shims = tuple(str(library.parent / name) for name in ("typing_extensions.py", "torchgen", "functorch"))
    return str(library) + os.sep, *shims, str(Path(__file__).parent) + os.sep, "<frozen"


@cache
def is_own(filename: str) -> bool:
    """Whether a file is neither PyTorch's, nor Python's, nor ours."""
    if filename.startswith(_passed_over()):
        return False
    standard = sysconfig.get_paths()["stdlib"]
    return not filename.startswith(standard) or "site-packages" in filename


def of_frames(frames: Iterable[traceback.FrameSummary]) -> str:
    """Frames from the outermost to the innermost."""
    own = [f for f in frames if is_own(f.filename)]
    if not own:
        return "the model's own call"
    frame = own[-1]
    return f"{frame.filename}:{frame.lineno} ({in_words(frame.filename, frame.lineno or 0, frame.line or '')})"


def in_words(filename: str, number: int, line: str) -> str:
    """A line of code; one that only opens a bracket, with the next."""
    shown = line.strip()
    if shown.endswith(OPENS) and (then := linecache.getline(filename, number + 1).strip()):
        return f"{shown}{then} …"
    return shown


def of_error(error: BaseException) -> str:
    return of_frames(traceback.extract_tb(error.__traceback__))


def of_now() -> str:
    """Where the running code is, with the file's name alone."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(DEPTH):
        if frame is None:
            break
        if is_own(frame.f_code.co_filename):
            line = traceback.FrameSummary(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name).line or ""
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} ({in_words(frame.f_code.co_filename, frame.f_lineno, line)})"
        frame = frame.f_back
    return "the model's own call"
