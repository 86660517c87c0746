"""The one recorder of CUDA graphs: some calls, recorded once and replayed by a single call."""

from __future__ import annotations

import warnings
from typing import Any

from ironlaw.measure.devices.device import Call, Unsupported

WARMUP = 3


def record(torch: Any, call: Call, times: int = 1) -> Call:
    """`times` calls as one graph. What they return is not kept. Unsupported where they launch nothing, or wait for the device."""
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # warmed up off the main stream, as recording requires
            for _ in range(WARMUP):
                call()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="The CUDA Graph is empty")
            with torch.cuda.graph(graph):
                for _ in range(times):
                    call()
    except (RuntimeError, UserWarning) as error:
        torch.cuda.synchronize()
        raise Unsupported(f"no graph can be recorded of this call ({str(error).strip().splitlines()[0][:120]})") from error

    def replay(reads: Call = call) -> None:  # what the call holds stays alive as long as the graph that reads it
        graph.replay()

    return replay
