"""Libraries that look for fake tensors, and then take the path that suits a compiler, shall take the one of a plain call."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def as_if_real() -> Iterator[None]:
    """transformers builds explicit masks for fake tensors; torch's own fast path for attention would hide its ops; autocast
    for a GPU shall hold for tensors that stand for a GPU's; and what PyTorch logs about a call that fails, our error says.
    """
    import torch

    found: Any = sys.modules.get("transformers.utils.import_utils")
    before = getattr(found, "is_fake_tensor", None)
    fast = torch.backends.mha.get_fastpath_enabled()
    if before is not None:
        found.is_fake_tensor = lambda x: False
    torch.backends.mha.set_fastpath_enabled(False)
    autocast: Any = torch.amp.autocast_mode.autocast
    start = autocast.__init__
    log = logging.getLogger("torch._subclasses.fake_tensor")
    level = log.level

    def here(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        start(self, "cpu", *args, **kwargs)

    autocast.__init__ = here
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)
        autocast.__init__ = start
        torch.backends.mha.set_fastpath_enabled(fast)
        if before is not None:
            found.is_fake_tensor = before
