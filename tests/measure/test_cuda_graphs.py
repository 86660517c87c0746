"""The recorder of CUDA graphs, on a made-up PyTorch that keeps what is launched while a graph is recorded."""

import gc
import warnings
import weakref
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest

from ironlaw.measure.devices.cuda_graphs import WARMUP, record
from ironlaw.measure.devices.device import Unsupported


class Gpu:
    """`launch` is a call: it runs at once, or goes into the graph that is being recorded."""

    def __init__(self):
        self.ran = self.waited = 0
        self.recording = None
        stream = SimpleNamespace(wait_stream=lambda other: None)
        cuda = SimpleNamespace(
            Stream=lambda: stream, current_stream=lambda: stream, stream=lambda side: nullcontext(), CUDAGraph=lambda: Graph(self),
            graph=self.record, synchronize=self.wait,
        )  # fmt: skip
        self.torch = SimpleNamespace(cuda=cuda)

    @contextmanager
    def record(self, graph):
        self.recording = graph
        try:
            yield
        finally:
            self.recording = None
        if not graph.launches:
            warnings.warn("The CUDA Graph is empty. This usually means that it was recorded on the wrong stream.", stacklevel=2)

    def launch(self):
        if self.recording is None:
            self.ran += 1
        else:
            self.recording.launches += 1

    def wait(self):
        self.waited += 1

    def item(self):
        """A call that waits for the device."""
        if self.recording is not None:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")


class Graph:
    def __init__(self, gpu):
        self.gpu, self.launches = gpu, 0

    def replay(self):
        self.gpu.ran += self.launches


@pytest.mark.parametrize("times", [1, 20])
def test_a_replay_runs_what_was_recorded(times):
    gpu = Gpu()
    replay = record(gpu.torch, gpu.launch, times)
    assert gpu.ran == WARMUP  # warmed up, and nothing run while recording
    replay()
    replay()
    assert gpu.ran == WARMUP + 2 * times


def test_a_call_that_waits_or_launches_nothing_can_not_be_recorded():
    gpu = Gpu()
    with pytest.raises(Unsupported, match=r"not permitted when stream is capturing\)"):
        record(gpu.torch, gpu.item)
    with pytest.raises(Unsupported, match="The CUDA Graph is empty"):
        record(gpu.torch, lambda: None)
    assert gpu.waited == 2  # the device is usable again


def test_what_the_call_reads_lives_as_long_as_its_graph():
    gpu, weights = Gpu(), Weights()
    alive = weakref.ref(weights)
    replay = record(gpu.torch, lambda reads=weights: gpu.launch())
    del weights
    gc.collect()
    assert alive() is not None
    del replay
    gc.collect()
    assert alive() is None


class Weights:
    """Memory of the device that would be given to others once nobody holds it."""
