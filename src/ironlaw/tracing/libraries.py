"""Makes libraries that look for fake tensors, and then take the path that suits a compiler, take the one of a plain call."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class LibraryBehaviour:
    """What was seen of a library while it ran."""

    masks_when_traced: bool = False  # transformers left a bidirectional mask out; for a compiler it spells it out


@contextmanager
def as_if_real() -> Iterator[LibraryBehaviour]:
    """transformers builds explicit masks for fake tensors; torch's own fast path for attention would hide its ops; autocast
    for a GPU has to hold for tensors that stand for a GPU's; what is compiled on the way (flex_attention does so) runs as it is
    written; and what PyTorch logs about a call that fails, our error says.
    """
    import torch

    library = LibraryBehaviour()
    masks: Any = sys.modules.get("transformers.masking_utils")
    skips: Any = getattr(masks, "_ignore_bidirectional_mask_sdpa", None)

    def skips_mask(*args: Any, **kwargs: Any) -> bool:
        skipped = bool(skips(*args, **kwargs))
        library.masks_when_traced |= skipped  # a model may have a second mask that is spelled out anyway
        return skipped

    if skips is not None:
        masks._ignore_bidirectional_mask_sdpa = skips_mask
    imports: Any = sys.modules.get("transformers.utils.import_utils")
    before = getattr(imports, "is_fake_tensor", None)
    fast = torch.backends.mha.get_fastpath_enabled()
    if before is not None:
        imports.is_fake_tensor = lambda x: False
    torch.backends.mha.set_fastpath_enabled(False)
    autocast: Any = torch.amp.autocast_mode.autocast
    start = autocast.__init__
    log = logging.getLogger("torch._subclasses.fake_tensor")
    level = log.level

    def here(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        start(self, "cpu", *args, **kwargs)

    def plain(model: Any = None, **settings: Any) -> Any:
        return model if model is not None else lambda function: function

    compiler: Any = torch
    compiles, compiler.compile = torch.compile, plain
    autocast.__init__ = here
    log.setLevel(logging.CRITICAL)
    try:
        yield library
    finally:
        if skips is not None:
            masks._ignore_bidirectional_mask_sdpa = skips
        compiler.compile = compiles
        log.setLevel(level)
        autocast.__init__ = start
        torch.backends.mha.set_fastpath_enabled(fast)
        if before is not None:
            imports.is_fake_tensor = before
