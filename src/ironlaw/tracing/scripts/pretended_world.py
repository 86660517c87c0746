"""Ranks that are not there: PyTorch's fake process group answers every collective at once, and the recorder writes each of them down.

DDP's own reducer works on memory, which nothing has here; gradients are put into its buckets, and summed up, by hooks in its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from ironlaw.errors import BadValue
from ironlaw.tracing.libraries import replaced

FIRST, BUCKET = 1 << 20, 25 << 20  # bytes of DDP's first bucket, and of the others
ALONE = "the script joins a process group, and here is one process; say how many ranks to pretend with --world, such as --world 8"


@contextmanager
def world(ranks: int | None) -> Iterator[None]:
    """The script is rank 0 of so many; without a number, one that asks for others is told how to say it."""
    import torch.distributed as dist

    start: Any = dist.init_process_group

    def init(*_: Any, **__: Any) -> None:
        if ranks is None:
            raise BadValue(ALONE)
        if not dist.is_initialized():
            from torch.testing._internal.distributed.fake_pg import FakeStore

            start(backend="fake", rank=0, world_size=ranks, store=FakeStore())

    def mesh(real: Any, device: str, *args: Any, **kwargs: Any) -> Any:
        if ranks is None:
            raise BadValue(ALONE)
        init()
        return real("cpu", *args, **kwargs)

    with ExitStack() as stack:
        stack.enter_context(replaced(dist, "init_process_group", init))
        stack.enter_context(replaced(dist.distributed_c10d, "init_process_group", init))
        meshes: Any = torch.distributed.device_mesh
        made = meshes.init_device_mesh
        for place in (meshes, dist):
            stack.enter_context(replaced(place, "init_device_mesh", lambda *a, **k: mesh(made, *a, **k)))
        stack.enter_context(replaced(nn.parallel, "DistributedDataParallel", Replicated))
        stack.enter_context(replaced(nn.parallel.distributed, "DistributedDataParallel", Replicated))
        if ranks is not None:
            here = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
            before = dict(os.environ)
            os.environ |= {**here, "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
            stack.callback(_restored, before)
        try:
            yield
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


def _restored(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)


class DistributedDataParallel(nn.Module):
    """DDP's buckets: gradients in the order in which they should come, summed up as soon as a bucket is full."""

    def __init__(self, module: nn.Module, *_: Any, bucket_cap_mb: float | None = None, process_group: Any = None, **__: Any) -> None:
        super().__init__()
        self.module, self.process_group, self.require_backward_grad_sync = module, process_group, True
        self.buckets = buckets([w for w in module.parameters() if w.requires_grad], (bucket_cap_mb or BUCKET / 2**20) * 2**20)
        self.left = [len(bucket) for bucket in self.buckets]
        for number, bucket in enumerate(self.buckets):
            for weight in bucket:
                weight.register_post_accumulate_grad_hook(lambda _, number=number: self.ready(number))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.left = [len(bucket) for bucket in self.buckets]
        return self.module(*args, **kwargs)

    def ready(self, number: int) -> None:
        self.left[number] -= 1
        if self.left[number] or not self.require_backward_grad_sync:
            return
        gradients = [w.grad for w in self.buckets[number] if w.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        torch.distributed.all_reduce(flat, group=self.process_group)
        flat.div_(torch.distributed.get_world_size(self.process_group))

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(name)


Replicated = DistributedDataParallel


def buckets(weights: list[Any], cap: float) -> list[list[Any]]:
    """From the last weight to the first, each format apart; the first bucket is a small one."""
    found: list[list[Any]] = []
    held, room = 0.0, float(FIRST)
    for weight in reversed(weights):
        if not found or held >= room or found[-1][0].dtype != weight.dtype:
            room = float(FIRST) if not found else cap
            found.append([])
            held = 0.0
        found[-1].append(weight)
        held += weight.numel() * weight.element_size()
    return found
