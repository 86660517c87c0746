"""The part of `ironlaw measure TARGET` that runs the model: in this process for one of the registry, in a worker for the user's own code.

Either way an Outcome comes of it; a worker sends it as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError, UnknownName
from ironlaw.measure.progress_lines import Progress
from ironlaw.registry.loader import normal
from ironlaw.tracing.graph_json import from_json, to_json
from ironlaw.worker.json_values import Json, decode, encode

if TYPE_CHECKING:
    from ironlaw.measure.devices.torch_device import TorchDevice
    from ironlaw.measure.models.model_run import Run

SECONDS = 2.0  # of timing, for each mode


@dataclass
class Chosen:
    """What to run, and how its rows name it: `workload` and `params` as the registry takes them, or `model`."""

    call: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    row: dict[str, Any]
    dtype: str = ""


@dataclass
class Outcome:
    """What ran on which device, and the graph of the same call; `reason`: why there is none."""

    runs: list[Run]
    graph: Graph | None
    reason: str
    row: dict[str, Any]
    dtype: str
    weights: int
    device: str
    machine: Mapping[str, Any]
    software: Mapping[str, Any]


def is_own_code(target: str) -> bool:
    """Whether the target is the user's file, or a model that transformers builds; else it is of the registry."""
    return target.startswith("hf:") or ":" in target or target.endswith(".py")


def run_model(request: Mapping[str, Any], progress: Progress) -> Outcome:
    """`request`: the options of `ironlaw measure` that concern a model, and `device`."""
    from ironlaw.measure.devices.choice import choose_torch
    from ironlaw.measure.models.model_run import measure, modes
    from ironlaw.measure.software_host import software

    device = choose_torch(request["device"])
    chosen = (from_code if is_own_code(request["target"]) else from_registry)(request, device)
    graph, reason = capture_or_reason(chosen)
    wanted, seconds = request["mode"] or modes(device), request["seconds"] or SECONDS
    runs = measure(chosen.call, chosen.args, chosen.kwargs, device=device, modes=wanted, seconds=seconds, progress=progress)
    weights = sum(w.numel() for w in chosen.call.parameters()) if hasattr(chosen.call, "parameters") else 0
    dtype = chosen.dtype or (graph.dtype if graph else "")
    return Outcome(runs, graph, reason, chosen.row, dtype, weights, device.NAME, device.machine(), software())


def from_registry(request: Mapping[str, Any], device: TorchDevice) -> Chosen:
    target = request["target"]
    for name in ("input", "set"):
        if request[name]:
            raise BadValue(f"--{name} is for a model of your own; {target} is the registry's and takes --batch, --seq and --dtype")
    from ironlaw.measure.models.builders import build
    from ironlaw.registry.workloads import about

    try:
        about(target)  # an unknown name is reported before anything is built
    except UnknownName as error:
        raise UnknownName(f"{error}; a model of your own is given as FILE.py:NAME") from None
    dtype = request["dtype"] or device.default_format
    built = build(target, batch=request["batch"], seq=request["seq"], dtype=dtype, device=device.NAME, room=device.free_memory())
    return Chosen(built.module, built.args, built.kwargs, {"workload": normal(target), "params": built.settings}, dtype)


def from_code(request: Mapping[str, Any], device: TorchDevice) -> Chosen:
    from ironlaw.measure.models.model_run import described, real
    from ironlaw.tracing.load_target import load

    text, settings = request["target"], request["set"]
    target = load(text, request["input"], request["batch"], request["dtype"], request["seq"], settings, device.NAME)
    vocabulary = int(getattr(getattr(target.call, "config", None), "vocab_size", 0) or 0)
    inputs = real((target.args, target.kwargs), device.NAME, vocabulary)
    params = {"inputs": described(inputs), **({"settings": settings} if settings else {})}
    name = text if text.startswith("hf:") else Path(text).name
    return Chosen(target.call, tuple(inputs[0]), inputs[1], {"model": name, "params": params}, request["dtype"] or "")


def capture_or_reason(chosen: Chosen) -> tuple[Graph | None, str]:
    """The graph of the same call, or the reason why it can't be captured."""
    from ironlaw.tracing.capture import capture

    try:
        return capture(chosen.call, chosen.args, chosen.kwargs), ""
    except IronlawError as error:
        return None, str(error)


# ---- between processes


def job(request: Json, send: Callable[[Json], None]) -> Json:
    """What the worker does."""
    outcome = run_model(decode(request), lambda share, doing: send([share, doing]))
    graph = to_json(outcome.graph) if outcome.graph is not None else None
    about = {name: encode(getattr(outcome, name)) for name in ("reason", "row", "dtype", "weights", "device", "machine", "software")}
    return {"about": about, "graph": graph, "runs": [_run_json(run) for run in outcome.runs]}


def read(data: Json) -> Outcome:
    graph = from_json(data["graph"]) if data["graph"] is not None else None
    about = {name: decode(value) for name, value in data["about"].items()}
    return Outcome([_read_run(run) for run in data["runs"]], graph, **about)


def _run_json(run: Run) -> Json:
    out: dict[str, Json] = {"mode": run.mode, "row": encode(run.row), "error": run.error, "noise": None, "profile": None}
    if run.noise is not None:
        out["noise"] = asdict(run.noise)
    if run.profile is not None:  # the events are JSON already
        out["profile"] = {**vars(run.profile), "seconds": encode(run.profile.seconds)}
    return out


def _read_run(data: Json) -> Run:
    from ironlaw.measure.models.model_run import Run
    from ironlaw.measure.models.profile import Profile
    from ironlaw.measure.noise import Noise

    profile = Profile(**{**data["profile"], "seconds": decode(data["profile"]["seconds"])}) if data["profile"] else None
    noise = Noise(**data["noise"]) if data["noise"] else None
    return Run(data["mode"], decode(data["row"]), profile, noise, data["error"])
