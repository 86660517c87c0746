"""What a worker does for `ironlaw analyze train.py`: the script's step, captured once."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace

from ironlaw.tracing.capture_job import ASKED, SELDOM, counter
from ironlaw.tracing.graph_json import to_json
from ironlaw.tracing.scripts.run_script import Script, run_script
from ironlaw.worker.json_values import Json

SETTINGS = ("place", "arguments", "module", "steps", "real", "world", "changes", "times", "alike", "numbers")
DIFFERS = "Differs"


def job(request: Json, send: Callable[[Json], None]) -> Json:
    """The sizes at hand, as `capture_job.job` gives them; none where equal microbatches were not equal after all."""
    gc.set_threshold(*SELDOM)
    settings = {name: request[name] for name in SETTINGS}
    with ExitStack() as stack:
        if request["quiet"]:  # what it prints was shown the first time
            nowhere = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(redirect_stdout(nowhere))
            stack.enter_context(redirect_stderr(nowhere))
        try:
            graph = run_script(Script(**settings), counter(send) if request["progress"] else None)
        except BaseException as error:
            if type(error).__name__ != DIFFERS:  # its class needs PyTorch
                raise
            return {"": None}
    batch, taken = graph.settings.get("batch"), graph.settings["taken"]
    graph = replace(graph, settings={name: value for name, value in graph.settings.items() if name != "taken"})
    send({"phase": "", "what": ASKED, "size": batch, "graph": to_json(graph)})
    return {"": {"batch": batch, "tokens": None, "positions": None, "kept": None, "taken": taken}}
