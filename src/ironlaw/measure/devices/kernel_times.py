"""Device time of many cases from PyTorch's profiler: every kernel, memset and memcpy, without what launching them costs.

    for row in profile(device, [lambda: call, …]): row["busy_s"], row["kernels"], row["list"], or row["error"]

A marker kernel goes before every call, so that the profiler's list can be cut where calls begin. Where there is no GPU the calls
are run, to try them, and no kernels are found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ironlaw.measure.devices.device import Call
from ironlaw.measure.devices.kernel_events import ITERATIONS, WARMUP, Event, cut, events, summary
from ironlaw.measure.devices.torch_device import TorchDevice

Owners = list[tuple[int | None, int]]  # of each marked call: which case, which turn; None after a case's last


def profile(
    device: TorchDevice,
    cases: Sequence[Callable[[], Call]],
    warmup: int = WARMUP,
    iterations: int = ITERATIONS,
    keep: int | None = None,
    each: Callable[[int], bool] = lambda index: True,
) -> list[dict[str, Any]]:
    """One session of the profiler. A case prepares its inputs and returns the call; `each` is called with its number first, and may raise,
    or end the session before it by a no.

    `keep`: how many kernels are listed, the longest ones.
    """
    owners: Owners = []
    errors: dict[int, str] = {}
    with warnings.catch_warnings(), device.kernel_profiler() as profiler:
        warnings.simplefilter("ignore")  # that events of earlier sessions are gone is as it should be
        for index, prepare in enumerate(cases):
            if not each(index):
                cases = cases[:index]
                break
            try:
                _turns(device, index, prepare, warmup + iterations, warmup, owners)
            except Exception as error:
                errors[index] = reason(error)
            owners.append((None, 0))
            device.mark()
        device.clock.sync()
    calls = [[] for _ in owners] if profiler is None else cut(events(device.torch, profiler))
    if len(calls) != len(owners):  # the profiler is not allowed here, or lost some
        return [{"error": f"the profiler saw {len(calls)} of {len(owners)} marks"} for _ in cases]
    kept: list[list[list[Event]]] = [[] for _ in cases]
    for (owner, turn), call in zip(owners, calls, strict=True):
        if owner is not None and turn >= warmup:
            kept[owner].append(call)
    return [{"error": errors[index]} if index in errors else summary(turns, keep) for index, turns in enumerate(kept)]


def reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _turns(device: TorchDevice, index: int, prepare: Callable[[], Call], turns: int, warmup: int, owners: Owners) -> None:
    """A function of its own, so that a case's tensors are gone when the next one's are made."""
    call = prepare()
    for turn in range(turns):
        if turn in (0, warmup):
            device.clock.sync()
        owners.append((index, turn))
        device.mark()
        call()
    device.clock.sync()
