"""DDP and SyncBatchNorm as modules that need no memory to work on: gradients are put into DDP's buckets, and summed up, by hooks in the
place of its own reducer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

FIRST, BUCKET = 1 << 20, 25 << 20  # bytes of DDP's first bucket, and of the others


class DistributedDataParallel(nn.Module):
    """DDP's buckets: gradients in the order in which they should come, summed up as soon as a bucket is full."""

    def __init__(self, module: nn.Module, *_: Any, bucket_cap_mb: float | None = None, process_group: Any = None, **__: Any) -> None:
        super().__init__()
        self.static_graph, self.find_unused_parameters, self.gradient_as_bucket_view = False, False, False  # which libraries look at
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
        flat.div_(dist.get_world_size(self.process_group))  # before they are sent, as DDP does
        dist.all_reduce(flat, group=self.process_group)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, *_: Any, **__: Any) -> Iterator[None]:
        yield

    def register_comm_hook(self, *_: Any, **__: Any) -> None:
        """What is sent stays as it is."""

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {}

    def _set_static_graph(self) -> None:
        self.static_graph = True


def buckets(weights: list[Any], cap: float) -> list[list[Any]]:
    """Gradients in buckets, from the last weight to the first, each format apart; the first bucket is a small one."""
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


def normalised(self: nn.SyncBatchNorm, x: Tensor) -> Tensor:
    """SyncBatchNorm's forward pass: means, variances and counts of all ranks are gathered; the backward pass adds up two sums."""
    ranks = dist.get_world_size() if dist.is_initialized() else 1
    if ranks > 1 and self.training:
        own = x.new_zeros(2 * self.num_features + 1, dtype=torch.float32)
        dist.all_gather_into_tensor(own.new_empty(ranks * own.numel()), own)

        def summed(gradient: Tensor) -> Tensor:
            dist.all_reduce(gradient.new_zeros(2 * self.num_features, dtype=torch.float32))
            return gradient

        if x.requires_grad:
            x.register_hook(summed)
    plain: Any = nn.BatchNorm2d.forward
    return plain(self, x)  # type: ignore[no-any-return]
