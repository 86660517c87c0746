"""Makes libraries that look for fake tensors, and then take the path that suits a compiler, take the one of a plain call; and PyTorch,
which sees a processor here, take the one of a GPU."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

MOST_AT_ONCE = 100_000  # numbers in boxes that torchvision suppresses at once on a GPU (torchvision/ops/boxes.py)


@dataclass
class LibraryBehaviour:
    """What was seen of a library while it ran."""

    # transformers left a mask out, which it spells out for a compiler: "bidirectional", or "padding" where one was given
    masks_when_traced: str = ""
    autocast: bool = False  # products run in another format than the weights have
    compiled: bool = False  # code asked for torch.compile


@contextmanager
def replaced(place: Any, name: str, value: Any) -> Iterator[Any]:
    """`place.name` is `value` while this lasts; nothing happens where there is no such name. Gives what was there."""
    before = getattr(place, name, None)
    if before is None:
        yield None
        return
    setattr(place, name, value)
    try:
        yield before
    finally:
        setattr(place, name, before)


@contextmanager
def as_if_real() -> Iterator[LibraryBehaviour]:
    """transformers builds explicit masks for fake tensors; torch's own fast path for attention would hide its ops; what is compiled on
    the way (flex_attention does so) runs as it is written; and what PyTorch logs about a call that fails, our error says.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    library = LibraryBehaviour()
    log = logging.getLogger("torch._subclasses.fake_tensor")
    level, fast = log.level, torch.backends.mha.get_fastpath_enabled()

    def plain(model: Any = None, **settings: Any) -> Any:
        library.compiled = True
        return model if model is not None else lambda function: function

    with ExitStack() as stack:
        masks: Any = sys.modules.get("transformers.masking_utils")
        skips = getattr(masks, "_ignore_bidirectional_mask_sdpa", None)

        def skips_mask(*args: Any, **kwargs: Any) -> bool:
            skipped = bool(skips(*args, **kwargs)) if skips is not None else False
            if skipped:  # a model may have a second mask that is spelled out anyway
                given = kwargs.get("padding_mask", args[0] if args else None)
                library.masks_when_traced = "bidirectional" if given is None else "padding"
            return skipped

        stack.enter_context(replaced(masks, "_ignore_bidirectional_mask_sdpa", skips_mask))
        stack.enter_context(replaced(sys.modules.get("transformers.utils.import_utils"), "is_fake_tensor", lambda x: False))
        stack.enter_context(replaced(torch, "compile", plain))
        stack.enter_context(no_inference_tensors())
        if "torch._dynamo" in sys.modules:  # what was compiled earlier also runs as it is written
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(replaced(FakeTensor, "tolist", torch.Tensor.tolist))  # else each element is asked for apart
        stack.enter_context(as_on_gpu(library))
        torch.backends.mha.set_fastpath_enabled(False)
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        log.setLevel(logging.CRITICAL)
        stack.callback(log.setLevel, level)
        yield library


@contextmanager
def no_inference_tensors() -> Iterator[None]:
    """Inference mode switches gradients off and no more: its tensors have no version, which a view of one from outside would need."""
    import torch

    modes: Any = torch.inference_mode

    def enter(self: Any) -> None:
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(self.before and not self.mode)

    def leave(self: Any, *_: Any) -> None:
        torch.set_grad_enabled(self.before)

    with replaced(modes, "__enter__", enter), replaced(modes, "__exit__", leave):
        yield


@contextmanager
def as_on_gpu(library: LibraryBehaviour) -> Iterator[None]:
    """Autocast for a GPU holds for tensors that stand for a GPU's; optimisers and the clipping of gradients take them in lists; gradients
    are scaled; there is nothing to wait for."""
    import torch

    from ironlaw.tracing.autocast import gpu_lists

    autocast: Any = torch.amp.autocast_mode.autocast
    start = autocast.__init__

    lists = ExitStack()
    taken: set[str] = set()

    def here(self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        library.autocast |= enabled
        if enabled and device_type != "cpu" and not taken:
            taken.add(device_type)
            lists.enter_context(gpu_lists())
        start(self, "cpu", dtype or torch.get_autocast_dtype(device_type), enabled, cache_enabled)

    with ExitStack() as stack, lists:
        stack.enter_context(replaced(autocast, "__init__", here))
        stack.enter_context(scaled_gradients())
        for name in [name for name in sys.modules if name.startswith("torch.optim.")]:
            stack.enter_context(replaced(sys.modules[name], "_default_to_fused_or_foreach", _in_lists))
        stack.enter_context(replaced(sys.modules.get("torch.nn.utils.clip_grad"), "_has_foreach_support", lambda *_: True))
        stack.enter_context(replaced(torch.cuda, "synchronize", lambda *_: None))
        stack.enter_context(suppressed_at_once())
        yield


def _in_lists(weights: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    return False, not differentiable


@contextmanager
def scaled_gradients() -> Iterator[None]:
    """A GradScaler for a GPU scales, though PyTorch may see none here."""
    import torch

    scaler: Any = torch.amp.grad_scaler.GradScaler
    start = scaler.__init__

    def here(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        start(self, "cpu", *args, **kwargs)

    with replaced(scaler, "__init__", here):
        yield


@contextmanager
def suppressed_at_once() -> Iterator[None]:
    """torchvision suppresses boxes of all classes at once where there are few, and class by class where there are many; on a GPU that is
    far later than on a processor."""
    ops: Any = sys.modules.get("torchvision.ops.boxes")
    at_once: Any = getattr(ops, "_batched_nms_coordinate_trick", None)
    by_class: Any = getattr(ops, "_batched_nms_vanilla", None)

    def chosen(boxes: Any, scores: Any, classes: Any, overlap: float) -> Any:
        return (by_class if boxes.numel() > MOST_AT_ONCE else at_once)(boxes, scores, classes, overlap)

    with replaced(ops if at_once and by_class else None, "batched_nms", chosen):
        yield
