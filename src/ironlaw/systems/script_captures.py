"""What `ironlaw analyze train.py` captures: the script's own step, and the same step after changes of it, each in a process of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ironlaw import worker
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import BYTES, COLLECTIVE, RANKS
from ironlaw.errors import BadValue, IronlawError
from ironlaw.registry.boxes import box_with
from ironlaw.systems.captures import Captures, captures_of, operator_count
from ironlaw.tracing.capture_job import ASKED, GROWN
from ironlaw.tracing.capture_job import STEPS as CHANGED
from ironlaw.tracing.graph_json import from_json
from ironlaw.tracing.step_choices import steps
from ironlaw.units import show

REAL = "ironlaw.tracing.scripts.real_steps:job"
JOB = "ironlaw.tracing.scripts.script_job:job"
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
FILES = (".pt2", ".pt", ".json", ".toml")  # endings of files that are not scripts
IDLE = ("input", "batch", "dtype", "seq", "set", "training", "prefill", "decode", "context")  # what a script says itself


def is_script(target: str) -> bool:
    """`train.py`, or `package.train` as after `python -m`."""
    return target.endswith(".py") or (DOTTED.fullmatch(target) is not None and not target.endswith(FILES) and not Path(target).exists())


def capture_script(asked: Any) -> Captures:
    for name in IDLE:
        if getattr(asked, name):
            raise BadValue(f"{asked.target} is a script and defines its own inputs; give it its own arguments after --, not `{name}`")
    if asked.target.endswith(".py") and not Path(asked.target).is_file():
        raise BadValue(f"there is no file {asked.target}; give the path of a script, or FILE.py:NAME for a model in a file")
    main, sizes = _run(asked)
    captured: dict[str, dict[Any, Graph]] = {ASKED: {sizes["batch"]: main}, CHANGED: {}}
    reasons: dict[str, str] = {}
    taken = sizes["taken"]
    captured[CHANGED] = dict(steps(main, lambda times, changes: _run(asked, changes, times, taken)[0]))
    for size in GROWN["batch"] if sizes["batch"] else ():
        try:
            captured.setdefault("batch", {})[size * sizes["batch"]] = _run(asked, (), size, taken)[0]
        except IronlawError as error:
            reasons["batch"] = str(error)
    return with_wires(captures_of(asked, captured, reasons, sizes), asked.on)


def with_wires(captures: Captures, machines: Collection[Hardware]) -> Captures:
    """Notes of what ranks do together, and of machines whose wires nobody knows."""
    found = [op.attrs for op in captures.main.ops if COLLECTIVE in op.attrs]
    if not found:
        return captures
    kinds = Counter(str(attrs[COLLECTIVE]) for attrs in found)
    listed = ", ".join(f"{kind} ×{count}" for kind, count in kinds.items())
    moved = show(sum(float(attrs[BYTES]) for attrs in found), "B")
    notes = [f"{found[0][RANKS]} ranks work together in a step: {listed}, {moved} in all"]
    for machine in machines:
        box = box_with(machine.slug)
        if box is not None and (int(found[0][RANKS]) <= box.devices or box.nics):
            notes.append(f"{machine.slug}: collectives run over {box.name}, beside the passes; the last of a backward pass are waited for")
        else:
            notes.append(f"{machine.slug}: the registry knows no box for that, so the times hold no wire")
    said = (*notes, *captures.main.settings.get("notes", ()))
    graphs = {key: replace(graph, settings={**graph.settings, "notes": said}) for key, graph in captures.graphs.items()}
    return replace(captures, graphs=graphs)


@dataclass(frozen=True)
class RealSteps:
    """What a script took when it was run: `seconds` for a step, the mean of `steps`, and the most memory that PyTorch held on a GPU."""

    steps: int
    seconds: float
    device: str
    peak_bytes: float | None


def real_steps(asked: Any) -> RealSteps:
    """The script runs for real, in a process of its own."""
    request = {"place": asked.target, "module": not asked.target.endswith(".py"), "arguments": list(asked.arguments), "steps": asked.real}
    return RealSteps(**worker.run(REAL, request, name=asked.target, limit_s=asked.limit))


def _run(asked: Any, changes: Collection[str] = (), times: int = 1, taken: Any = None, alike: bool = True) -> tuple[Graph, dict[str, Any]]:
    """`taken`: how far the first run has come, and the numbers that it has read. `alike`: microbatches that seem equal are; where they
    turn out not to be, the script is run once more."""
    graphs: list[Graph] = []
    again = bool(changes) or times > 1
    with operator_count() as progress:

        def keep(part: Any) -> None:
            if "ops" in part:
                progress(part["ops"])
            else:
                graphs.append(from_json(part["graph"]))

        request = {"place": asked.target, "module": not asked.target.endswith(".py"), "changes": sorted(changes), "times": times}
        request |= {
            "arguments": list(asked.arguments),
            "steps": taken["steps"] if taken else asked.steps,
            "real": False,
            "world": asked.world,
            "alike": alike,
        }
        request |= {"progress": progress is not None, "quiet": again, "numbers": taken["numbers"] if taken else None}
        sizes = worker.run(JOB, request, name=asked.target, limit_s=asked.limit, on_part=keep)[""]
    if sizes is None:
        return _run(asked, changes, times, taken, alike=False)
    graph = graphs[-1]
    if again:
        with suppress(KeyError):  # the first capture has said them already
            graph = replace(graph, settings={**graph.settings, "notes": ()})
    return graph, sizes
