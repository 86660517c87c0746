"""Weights, metrics and archives that a script would fetch: nothing is. No tensor holds data here, so one weight is like another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import hub, nn

from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.scripts.absent_data import Absent

LOADERS = ("torchvision.models._api", "torchvision._internally_replaced_utils", "timm.models._hub")  # which have taken it from there
FETCHERS = ("download_and_extract_archive", "download_url", "download_file_from_google_drive")


class Figures(dict[str, float]):
    """What a metric gives: any figure that is asked for."""

    def __missing__(self, _: str) -> float:
        return 0.0


class Metric:
    """Stands in for a metric of `evaluate`, whose code is on the hub."""

    def __init__(self, name: str) -> None:
        self.name = name

    def add(self, *_: Any, **__: Any) -> None:
        return None

    add_batch = add

    def compute(self, *_: Any, **__: Any) -> Figures:
        return Figures({self.name: 0.0})


class Unread(dict[str, Any]):
    """A checkpoint that was not fetched."""


@contextmanager
def nothing_fetched(absent: Absent) -> Iterator[None]:
    start = nn.Module.load_state_dict
    left: list[str] = []

    def unread(url: str, *_: Any, **__: Any) -> Unread:
        left.append(url)
        absent.note("pretrained weights are not fetched; those that the model begins with stand for them")
        return Unread()

    def loaded(module: nn.Module, state: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(state, Unread) or (left and not state):  # a script may have copied it, item by item
            return nn.modules.module._IncompatibleKeys([], [])
        return start(module, state, *args, **kwargs)

    def unfetched(model: Any, *_: Any, **__: Any) -> None:
        unread("")

    def metric(real: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            with as_plain():
                return real(name, *args, **kwargs)
        except Exception:
            absent.note(f"the metric {name} can't be fetched here; it is not computed")
            return Metric(name)

    def no_archive(url: str, *_: Any, **__: Any) -> None:
        absent.note(f"{url} is not fetched")

    with ExitStack() as stack:
        stack.enter_context(replaced(nn.Module, "load_state_dict", loaded))
        for place in (
            hub,
            *map(sys.modules.get, ("torchvision.models._api", "torchvision._internally_replaced_utils", "timm.models._hub")),
        ):
            stack.enter_context(replaced(place, "load_state_dict_from_url", unread))
        stack.enter_context(replaced(sys.modules.get("timm.models._builder"), "load_pretrained", unfetched))
        for name in FETCHERS:
            stack.enter_context(replaced(sys.modules.get("torchvision.datasets.utils"), name, no_archive))
        trainer: Any = getattr(sys.modules.get("transformers.trainer"), "Trainer", None)
        for name in ("init_hf_repo", "push_to_hub", "_push_from_checkpoint"):
            stack.enter_context(replaced(trainer, name, lambda *_, **__: None))
        stack.enter_context(replaced(sys.modules.get("huggingface_hub"), "notebook_login", lambda *_, **__: None))
        evaluate: Any = sys.modules.get("evaluate")
        if evaluate is not None:
            real = evaluate.load
            stack.enter_context(replaced(evaluate, "load", lambda name, *a, **k: metric(real, name, *a, **k)))
        yield
