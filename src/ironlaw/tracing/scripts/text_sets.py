"""Lightning's WikiText2, which its examples train on, where its file is not there: as many tokens of as many words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.scripts.absent_data import Absent

PLACES = ("lightning.pytorch.demos", "pytorch_lightning.demos")
VOCABULARY, TOKENS, BLOCK = 33_278, 2_088_628, 35  # of the training file, its ends of lines included; the class's default


class Text(Dataset[Any]):
    vocab_size = VOCABULARY

    def __init__(self, block: int) -> None:
        self.block_size = block

    def __len__(self) -> int:
        return TOKENS // self.block_size - 1

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        words = torch.arange(index * self.block_size, (index + 1) * self.block_size + 1) % VOCABULARY
        return words[:-1], words[1:]


def read(absent: Absent, real: Any, data_dir: Path = Path("./data"), block_size: int = BLOCK, download: bool = True) -> Any:
    file = Path(data_dir) / "wikitext-2.txt"
    if file.is_file() and file.stat().st_size:
        with as_plain():
            return real(data_dir, block_size, False)
    absent.note(f"the file of WikiText2 is not here; text in sequences of {block_size} of its {VOCABULARY:,} words stands for it")
    return Text(block_size)


@contextmanager
def texts(absent: Absent) -> Iterator[None]:
    with ExitStack() as stack:
        for place in PLACES:
            real = getattr(sys.modules.get(f"{place}.transformer"), "WikiText2", None)
            for module in (place, f"{place}.transformer") if real is not None else ():
                stack.enter_context(replaced(sys.modules[module], "WikiText2", partial(read, absent, real)))
        yield
