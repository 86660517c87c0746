"""Run a model here and time it: eager, compiled, and on CUDA as a replayed graph. One evidence row for each mode.

    runs = measure(module, args, kwargs, device=choose("cpu", "torch"), modes=("eager", "compiled"), seconds=2.0)
    runs[0].row      wall_s, low_s, high_s, busy_s, kernels, activation_bytes …, as FORMAT.md has it
    runs[0].events   the profiler's events of an eager run, for laying beside a prediction

Times without the profiler come first; the profiler then says where they go.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.machine import MODES, REPLAYED, Plan
from ironlaw.errors import BadValue
from ironlaw.formats import of_torch
from ironlaw.measure.clock import Clock, Timing, timed
from ironlaw.measure.devices.device import OPERATORS, Device
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.models.profile import Profile, profiled
from ironlaw.measure.noise import Noise, Watch
from ironlaw.measure.progress_lines import Cancelled, Progress, Stop, quiet, within
from ironlaw.measure.rows import Draft, model_row, rounded

SLOW = 0.5  # seconds per call, from which fewer samples must do
PIPED = 10  # calls queued back to back
TRIES = 3  # how often a mode is timed when the machine is noisy
METHOD = (
    "Inference without gradients in eval mode, random inputs. wall_s: host clock around one call and a synchronisation, median; low_s and"
    f" high_s: 10% and 90% of the samples. piped_s: {PIPED} calls queued back to back and one synchronisation, per call, median. busy_s,"
    " kernels and list: torch.profiler in separate runs; on a GPU its kernels, on a CPU the outermost operators, scaled by how much the"
    " profiler slowed the run. compile_s: first call after torch.compile, its caches off. activation_bytes: most memory held at once"
    " beside weights and inputs."
)


@dataclass
class Run:
    """One mode: its row, or why it could not be run; the profile; and how noisy the machine was."""

    mode: str
    row: Draft
    profile: Profile | None = None
    noise: Noise | None = None
    error: str = ""

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.profile.events if self.profile else []


@dataclass
class ModelCall:
    """The call under test, on its device."""

    call: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    device: TorchDevice
    stop: Stop | None = None

    @property
    def clock(self) -> Clock:
        return self.device.clock

    def once(self) -> Any:
        return self.call(*self.args, **self.kwargs)


def modes(device: Device) -> tuple[str, ...]:
    """The modes that a model can be run in."""
    return tuple(mode for mode in MODES if mode not in REPLAYED or device.has_graphs)


def real(tree: Any, device: str, vocabulary: int = 0) -> Any:
    """Inputs with values, on the device: those given as shapes get random ones, token ids within the vocabulary."""
    import torch
    from torch.utils import _pytree as pytree

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if leaf.device.type != "meta":
            return leaf.to(device)
        if leaf.is_floating_point():
            return torch.randn(leaf.shape, device=device).to(leaf.dtype)
        if leaf.dtype == torch.bool or not vocabulary:
            return torch.zeros(leaf.shape, dtype=leaf.dtype, device=device)
        return torch.randint(vocabulary, leaf.shape, dtype=leaf.dtype, device=device)

    return pytree.tree_map(one, tree)


def described(tree: Any) -> list[str]:
    """Inputs as `--input` takes them: `8x3x224x224:fp32`."""
    import torch
    from torch.utils import _pytree as pytree

    return [f"{'x'.join(map(str, leaf.shape))}:{_format(leaf)}" for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _format(tensor: Any) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return of_torch(dtype) if tensor.is_floating_point() else dtype


def measure(
    call: Any,
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    device: TorchDevice,
    modes: Sequence[str] = ("eager", "compiled"),
    seconds: float = 2.0,
    progress: Progress = quiet,
    stop: Stop | None = None,
) -> list[Run]:
    """Each mode in turn; one that can't be run says why, unless it is the first: then nothing can."""
    import torch

    if not device.has_graphs and any(mode in REPLAYED for mode in modes):
        raise BadValue(f"graphs need CUDA, but this runs on {device.NAME}; give --mode eager,compiled")
    runs: list[Run] = []
    compiled: list[Any] = []  # by an earlier mode: graphs replay what compiled runs
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch\.")  # of the profiler and the compiler, about themselves
        for i, mode in enumerate(modes):
            part = within(progress, i / len(modes), (i + 1) / len(modes))
            run = ModelCall(call, tuple(args), dict(kwargs or {}), device, stop)
            try:
                runs.append(_mode(run, mode, seconds, part, compiled))
            except (Cancelled, KeyboardInterrupt):
                raise
            except Exception as error:
                if mode == "eager":
                    raise BadValue(f"the model does not run: {reason(error)}; fix it or its --input first") from error
                runs.append(Run(mode, model_row(mode), error=reason(error)))
    progress(1.0, "done")
    return runs


def reason(error: Exception) -> str:
    """The first line that is not empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _mode(run: ModelCall, mode: str, seconds: float, progress: Progress, compiled: list[Any]) -> Run:
    row = model_row(mode, device=run.device.NAME)
    with ExitStack() as stack:
        if Plan(mode).lowering == "eager":
            pass
        elif compiled:
            run.call = compiled[0]
        else:
            progress(0.0, "compiling")
            row["compile_s"] = _compile(run, stack)
            compiled.append(run.call)
        if mode in REPLAYED:
            run.call, run.args, run.kwargs = run.device.record(run.once), (), {}
        run.once()
        run.clock.sync()
        wall, noise = _quiet(run, seconds, lambda share: progress(0.2 + 0.5 * share, f"{mode}: timing"))
        row |= wall.row()
        if run.device.queued:
            row["piped_s"] = rounded(timed(run.once, run.clock, seconds=seconds / 4, batch=PIPED, least=3, stop=run.stop).median)
        row["noise"] = noise.as_json()
        if not run.device.profiles:
            return Run(mode, row, None, noise)
        progress(0.75, f"{mode}: profiling")
        if run.stop is not None and run.stop():
            raise Cancelled("the measurement was stopped; nothing was stored")
        profile = profiled(run.once, run.device, wall.median)
    row |= {"kernels": profile.kernels, "busy_s": rounded(profile.busy_s), "list": profile.listed()}
    if profile.activation_bytes is not None and mode not in REPLAYED:
        row["activation_bytes"] = profile.activation_bytes
    if run.device.profiles == OPERATORS:
        row["profiler_slows"] = rounded(profile.slower)
    return Run(mode, row, profile, noise)


def _quiet(run: ModelCall, seconds: float, report: Callable[[float], None]) -> tuple[Timing, Noise]:
    """The quietest of up to TRIES timings, each in three visits that the drift is taken from."""
    timings: list[tuple[Timing, Noise]] = []
    for attempt in range(TRIES):
        watch = Watch()
        visits = []
        for part in range(3):
            report((attempt + part / 3) / TRIES)
            visits.append(_timed(run, seconds / 3))
            watch.reference(visits[-1].best)
        timings.append((_together(visits), watch.verdict()))
        if not timings[-1][1].noisy:
            break
    return min(timings, key=lambda pair: (pair[1].noisy, pair[0].median))


def _timed(run: ModelCall, seconds: float) -> Timing:
    began = run.clock.now()
    run.once()
    run.clock.sync()
    slow = run.clock.now() - began > SLOW
    return timed(run.once, run.clock, seconds=seconds, least=2 if slow else 7, warmup=0 if slow else 2, batch=1, stop=run.stop)


def _together(visits: list[Timing]) -> Timing:
    """Three timings as one: the middle one's median, the outermost quantiles."""
    middle = sorted(visits, key=lambda t: t.median)[1]
    return Timing(middle.median, min(t.low for t in visits), max(t.high for t in visits), min(t.best for t in visits),
                  sum(t.count for t in visits))  # fmt: skip


def _compile(run: ModelCall, stack: ExitStack) -> float:
    """Compile in place of what is there; seconds of the first call. A kernel kept from an earlier run would make it look cheap."""
    import torch
    import torch._inductor.config as inductor
    from torch._inductor import utils

    fresh = getattr(utils, "fresh_cache", None) or utils.fresh_inductor_cache
    stack.enter_context(fresh())
    if hasattr(inductor, "force_disable_caches"):
        stack.enter_context(inductor.patch(force_disable_caches=True))
    stack.enter_context(inductor.patch(run.device.compiler_settings()))
    torch._dynamo.reset()
    run.call = torch.compile(run.call)
    run.clock.sync()
    began = run.clock.now()
    run.once()
    run.clock.sync()
    return rounded(run.clock.now() - began)
