"""Data sets as far as a step needs them: a loader gives its first batch over and over, read for real and handed out without its data.

Where a loop is not trained on (an evaluation before or between), one batch stands for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data import dataloader as loading

from ironlaw.errors import BadValue
from ironlaw.tracing.fakes import Fakes
from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.target import changed

AT_LEAST = 4  # batches of a training loop: an epoch should not end within the steps that are looked at


class Loaders:
    """`times`: as many times the batch. `trains`: whether there is an optimiser. `found`: what was seen, in words, by loader."""

    def __init__(self, fakes: Fakes, times: int, real: bool, trains: Callable[[], bool], at_least: int = AT_LEAST) -> None:
        self.fakes, self.times, self.real, self.trains, self.at_least = fakes, times, real, trains, at_least
        self.first: dict[int, Any] = {}
        self.kept: list[Any] = []  # loaders: one that is freed would give its address to another
        self.batches: list[int] = []  # the first size of what each loader gives
        self.cut = False

    def batches_of(self, loader: Any) -> Iterator[Any]:
        if self.real:
            yield from single(loader)
            return
        if id(loader) not in self.first:
            self.kept.append(loader)
            self.first[id(loader)] = self.read(loader)
        if self.first[id(loader)] is None:  # an empty data set
            return
        given = 0
        while given < max(self.at_least, length(loader)):
            if given and self.trains() and not torch.is_grad_enabled():
                self.cut = True
                return
            yield self.fresh(self.first[id(loader)])
            given += 1

    def read(self, loader: Any) -> Any:
        """The first batch, outside of all modes; inside of them where the data set itself is made of tensors without data."""
        try:
            with as_plain():
                batch, error = next(single(loader), None), None
        except Exception as failed:
            batch, error = None, failed
        if error is not None or any(isinstance(t, FakeTensor) for t in tensors_of(batch)):
            with self.unrecorded():
                try:
                    batch = next(single(loader), None)
                except Exception:
                    raise error or BadValue("a loader gives no batch") from None
        if self.times > 1:
            with self.unrecorded():
                batch = changed(batch, self.grown)
        sizes = [int(t.shape[0]) for t in tensors_of(batch) if t.dim()]
        self.batches += sizes[:1]
        return batch

    def grown(self, tensor: Tensor) -> Tensor:
        with nullcontext() if isinstance(tensor, FakeTensor) else as_plain():  # what was read for real lies on the host still
            return torch.cat([tensor] * self.times) if tensor.dim() else tensor

    def fresh(self, batch: Any) -> Any:
        """Another batch like the first: other tensors, the same shapes and values."""
        recorder, fakes = self.fakes.recorder, self.fakes
        fakes.fakes.clear()
        with self.unrecorded():
            own = changed(batch, lambda t: t.clone() if isinstance(t, FakeTensor) else t)
        fakes.fakes |= {id(t): t for t in tensors_of(own) if isinstance(t, FakeTensor)}
        with as_plain():
            made = fakes.inputs(own, "batch")
        for name, tensor in named(made):
            recorder.known(tensor, recorder.names.get(recorder.place(tensor), (f"input batch{name}", ""))[0], "input")
        return made

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """What runs here is not part of a step; values are followed all the same."""
        before, self.fakes.recorder.idle = self.fakes.recorder.idle, True
        try:
            yield
        finally:
            self.fakes.recorder.idle = before


def tensors_of(batch: Any) -> list[Tensor]:
    found: list[Tensor] = []
    changed(batch, lambda leaf: found.append(leaf) or leaf)  # type: ignore[func-returns-value]
    return found


def named(batch: Any) -> list[tuple[str, Tensor]]:
    leaves = pytree.tree_leaves_with_path(batch)
    return [
        (pytree.keystr(path).replace("'", "").replace("[", ".").replace("]", ""), leaf)
        for path, leaf in leaves
        if isinstance(leaf, FakeTensor)
    ]


def single(loader: Any) -> Iterator[Any]:
    """The loader's batches, read in this process."""
    workers, pinned = loader.num_workers, loader.pin_memory
    timeout = loader.timeout
    loader.num_workers, loader.pin_memory, loader.timeout = 0, False, 0
    try:
        iterator = loading._SingleProcessDataLoaderIter(loader)
    finally:
        loader.num_workers, loader.pin_memory, loader.timeout = workers, pinned, timeout
    return iter(iterator)


def length(loader: Any) -> int:
    if isinstance(loader.dataset, IterableDataset):
        return 1 << 30
    try:
        return len(loader)
    except TypeError:
        return 1 << 30


@contextmanager
def loaded(loaders: Loaders) -> Iterator[None]:
    def batches(loader: Any) -> Iterator[Any]:
        return loaders.batches_of(loader)

    with replaced(DataLoader, "__iter__", batches):
        yield
