"""Ranks that are not there: PyTorch's fake process group answers every collective at once, and the recorder writes each of them down."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from ironlaw.errors import BadValue
from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.scripts.pretended_modules import DistributedDataParallel, normalised

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
        stack.enter_context(replaced(nn.parallel, "DistributedDataParallel", DistributedDataParallel))
        stack.enter_context(replaced(nn.parallel.distributed, "DistributedDataParallel", DistributedDataParallel))
        stack.enter_context(replaced(nn.SyncBatchNorm, "forward", normalised))
        for place in (torch.multiprocessing, sys.modules.get("torch.multiprocessing.spawn")):
            stack.enter_context(replaced(place, "spawn", first_rank))
            stack.enter_context(replaced(place, "start_processes", first_rank))
        if ranks is not None:
            here = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
            before = dict(os.environ)
            elastic = {
                "TORCHELASTIC_RUN_ID": "none",
                "GROUP_RANK": "0",
                "ROLE_RANK": "0",
            }  # as torchrun says it: no library starts the others
            os.environ |= {**here, **elastic, "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
            stack.callback(_restored, before)
        try:
            yield
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


def first_rank(function: Any, args: Any = (), *_: Any, **__: Any) -> None:
    """`mp.spawn`: rank 0 alone, in this process."""
    function(0, *args)


def _restored(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)
