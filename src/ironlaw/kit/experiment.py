"""Measure it here: what the learner's machine can run beside the claims, with a button, progress, cancel, and what came out.

Each experiment runs in a process of its own (kit/process.py). The result is in the ledger before the page tells of it; a reload finds
it there. Nothing can be started before the act's prediction is committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.local_runs import Measured, span
from ironlaw.kit.process import CANCELLED, FAILED, JOBS, JobRunner, Keep, Run
from ironlaw.kit.prose import amount, html
from ironlaw.measure.experiments import catalogue
from ironlaw.measure.experiments.trials import OPS as COUNT
from ironlaw.measure.experiments.trials import words
from ironlaw.units import show
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

MACHINE = catalogue.MACHINE  # the whole characterisation, beside the experiments
COLUMNS = ("What", "Median", "10 to 90 %", "Samples")
OPS = {
    "nothing": "a call that does nothing", "add": "add", "mul": "multiply", "relu": "ReLU", "sum": "sum", "matmul": "matmul",
    "layer_norm": "LayerNorm",
}  # fmt: skip


def command(name: str) -> list[str]:
    return [sys.executable, "-m", "ironlaw.measure.experiments", name]


class Item:
    """One experiment on the page. `told`: what the lab says about a result, as Markdown."""

    def __init__(self, name: str, told: Callable[[Measured], str]) -> None:
        about = catalogue.experiment(name)
        self.name, self.told = name, told
        self.title, self.runs, self.seconds, self.why = about.title, about.runs, catalogue.takes(name), catalogue.why_not(name)

    def result(self, found: Measured | None) -> str:
        return table(found) + html(self.told(found)) if found else ""


class Machine:
    """The machine itself, where it was not measured yet: what makes it one of the contexts."""

    name, title, seconds = MACHINE, "This machine's own roofs and launch costs", catalogue.MACHINE_S
    runs = "Measures peak rates, bandwidth by working set and the cost of a call; then “This machine” is one of the contexts of every lab."

    def __init__(self, known: Callable[[], bool]) -> None:
        self.known, self.why = known, catalogue.why_not(MACHINE)

    def result(self, found: Measured | None) -> str:
        return html("This machine was measured. Load the page again, and it is among the contexts.") if self.known() else ""


def measure(
    act: str, items: Sequence[Item | Machine], found: Callable[[str], Measured | None], keep: Keep, landed: Callable[[], None],
    allowed: Callable[[], bool], jobs: JobRunner = JOBS,
) -> Piece:  # fmt: skip
    """`found` gives the newest run of an experiment, `keep` writes one to the ledger, `landed` is called when a run has ended."""
    by_name = {item.name: item for item in items}
    acts, finished = ActCounter(), jobs.finished
    mine: dict[str, Run] = {}

    def do(what: str, name: str) -> None:
        if not allowed():
            raise BadValue("Commit your prediction first; then measure.")
        if name not in by_name:
            raise BadValue(f"there is no experiment {name!r} here; choose one of {', '.join(by_name)}")
        if what == "cancel":
            jobs.cancel(name)
        elif what == "start":
            if by_name[name].why:
                raise BadValue(by_name[name].why)
            mine[name] = jobs.start(name, command(name), keep if name != MACHINE else lambda result: None)

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal finished
        refused = ""
        which = str(state.get("which") or "")
        if acts.advanced(state):
            try:
                do(str(state.get("do")), which)
            except BadValue as error:
                refused = str(error)
        running = {item.name: jobs.running(item.name) for item in items}  # before the next line: a run may end in between
        if jobs.finished != finished:
            finished = jobs.finished
            landed()
        told = [_shown(item, found(item.name), running[item.name], mine.get(item.name)) for item in items]
        for item in told:
            if item["id"] == which and refused:
                item["error"] = refused
        lost = {"dial": None, "message": refused} if refused and which not in by_name else None
        return {"items": told, "running": any(item["running"] for item in told), "error": lost}

    return Piece("experiment", {"id": f"{act}.measure"}, compute, {"act": 0})


def _shown(item: Item | Machine, found: Measured | None, running: Run | None, last: Run | None) -> dict[str, Any]:
    ended = last if last is not None and running is None else None
    result = item.result(found)
    return {
        "id": item.name, "title": item.title, "runs": item.runs, "why": item.why, "seconds": show(item.seconds, "s", 2),
        "running": {"share": running.share, "doing": running.doing} if running else None,
        "error": ended.error if ended is not None and ended.state == FAILED else "",
        "cancelled": ended is not None and ended.state == CANCELLED, "result": result, "reload": bool(result) and item.name == MACHINE,
    }  # fmt: skip


def table(found: Measured) -> str:
    """Every row with its median and quantiles, what ran it, and whether the machine was quiet."""
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{amount(float(row[key]), "s")}</td><td>{span(row, key)}</td>'
        f"<td>{row['samples']:,}</td></tr>"
        for label, row, key in lines(found)
    )
    device = found.machine.get("gpu") or found.machine.get("cpu", "this machine")
    ran = escape(f"{found.library}, Python {found.software.get('python', '')}; {device}; {found.time[:16].replace('T', ' ')} UTC.")
    state = "warn" if found.noisy else "good"
    verdict = f'<p class="il-noise c-{state}"><span aria-hidden="true">{"!" if found.noisy else "✓"} </span>{escape(found.verdict)}</p>'
    caption = f"{catalogue.experiment(found.experiment).title}, measured here"
    made = f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return (
        f'<div class="il-scroll" tabindex="0" role="region" aria-label="{caption}">{made}</div><p class="il-ran">{ran}</p>{verdict}'
    )  # fmt: skip


def lines(found: Measured) -> list[tuple[str, Mapping[str, Any], str]]:
    """(label, row, the field that holds its median), as a reader wants them."""
    told: list[tuple[str, Mapping[str, Any], str]] = []
    for row in found.rows:
        told.append((label(row), row, "wall_s"))
        if "sync_s" in row and found.machine.get("backend") != "cpu":
            told.append((f"{label(row)}, waited for", row, "sync_s"))
    return told


def label(row: Mapping[str, Any]) -> str:
    params = row.get("params", {})
    if row["kind"] == "launch":
        return f"{OPS.get(row['op'], row['op'])}, each of {COUNT:,}"
    if row["kind"] == "op":
        return f"{params['dtype'].upper()}, N = {params['n']:,}"
    if row["kind"] == "model":
        return f"batch {params['batch']}, {params['dtype'].upper()}" + ("" if row["mode"] == "eager" else ", replayed as a graph")
    size = f"{params['ops']} op{'s' if params['ops'] > 1 else ''}" if "ops" in params else " × ".join(f"{n:,}" for n in params["shape"])
    return f"{size}, {words(row['mode'])}"
