"""Measure it here: what the learner's machine can run beside the claims, with a button, progress, a way to cancel, and the result.

Each experiment runs in a process of its own (kit/process.py). The result is in the ledger before the page shows it; a reload finds
it there. Nothing can be started before the act's prediction is committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.hud import clock
from ironlaw.kit.local_runs import is_exact, span
from ironlaw.kit.measured_run import Measured
from ironlaw.kit.process import CANCELLED, FAILED, JOBS, JobRunner, Keep, Run
from ironlaw.kit.prose import amount, html
from ironlaw.measure.experiments import experiment_list
from ironlaw.measure.experiments.trials import OPS as COUNT
from ironlaw.measure.experiments.trials import words
from ironlaw.units import show
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

MACHINE = experiment_list.MACHINE  # the whole characterisation, beside the experiments
COLUMNS = ("What", "Median", "10 to 90%", "Samples")
OF_FIGURES = ("What", "Value", "95%", "Samples")  # where nothing was timed
OF_COUNTS = ("What", "Value")
ROWS = "Every row that was measured"
TOO_NOISY = "**Too noisy to tell.** The machine was busy, so read what follows with care, or measure again when it is quiet."
COUNTED = "These are counts, not timings, so a busy machine changes nothing."
OPS = {
    "nothing": "a call that does nothing", "add": "add", "mul": "multiply", "relu": "ReLU", "sum": "sum", "matmul": "matmul",
    "layer_norm": "LayerNorm",
}  # fmt: skip


def command(name: str, force: bool = False) -> list[str]:
    return [sys.executable, "-m", "ironlaw.measure.experiments", name, *(["--force"] if force else [])]


class Item:
    """One experiment on the page. `caption`: what the lab says about a result, as Markdown."""

    def __init__(self, name: str, caption: Callable[[Measured], str]) -> None:
        about = experiment_list.experiment(name)
        self.name, self.caption = name, caption
        self.title, self.runs, self.seconds, self.why = about.title, about.runs, experiment_list.takes(name), experiment_list.why_not(name)

    def result(self, run: Measured | None) -> str:
        """One sentence about the run, and its rows in a fold. A noisy run is said to be one before anything is read into it."""
        if run is None:
            return ""
        doubt = html(TOO_NOISY) if run.noisy and not is_counted(run) else ""
        return f'{doubt}{html(self.caption(run))}<details class="il-rows"><summary>{ROWS}</summary>{table(run)}</details>'


class Machine:
    """The machine itself, if it was not measured yet; measuring it makes it one of the contexts."""

    name, title, seconds = MACHINE, "This machine's own roofline and launch costs", experiment_list.MACHINE_S
    runs = "Measures peak rates, bandwidth by working set and the cost of a call. After that, “This machine” is a context in every lab."

    def __init__(self, is_known: Callable[[], bool]) -> None:
        self.is_known, self.why = is_known, experiment_list.why_not(MACHINE)

    def result(self, run: Measured | None) -> str:
        return html("This machine was measured. It is now one of the contexts at the top of every instrument.") if self.is_known() else ""


def measure(
    act: str, items: Sequence[Item | Machine], newest: Callable[[str], Measured | None], keep: Keep, on_end: Callable[[], None],
    allowed: Callable[[], bool], jobs: JobRunner = JOBS,
) -> Piece:  # fmt: skip
    """`newest` gives the newest run of an experiment, `keep` writes one to the ledger, `on_end` is called when a run has ended."""
    by_name = {item.name: item for item in items}
    acts, finished = ActCounter(), jobs.finished
    mine: dict[str, Run] = {}

    def elsewhere() -> str:
        """The run that another act or another lab has started."""
        now = jobs.now
        return now.name if now is not None and now.name not in by_name else ""

    def do(what: str, name: str) -> None:
        if not allowed():
            raise BadValue("Commit your prediction first; then measure.")
        if what == "cancel" and name == elsewhere():
            jobs.cancel(name)
            return
        if name not in by_name:
            raise BadValue(f"there is no experiment {name!r} here; choose one of {', '.join(by_name)}")
        if what == "cancel":
            jobs.cancel(name)
        elif what in ("start", "force"):
            if by_name[name].why:
                raise BadValue(by_name[name].why)
            chosen = command(name, force=True) if what == "force" else command(name)
            mine[name] = jobs.start(name, chosen, keep if name != MACHINE else lambda result: None)

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal finished
        refusal = ""
        which = str(state.get("which") or "")
        if acts.advanced(state):
            try:
                do(str(state.get("do")), which)
            except BadValue as error:
                refusal = str(error)
        running = {item.name: jobs.running(item.name) for item in items}  # before the next line: a run may end in between
        if jobs.finished != finished:
            finished = jobs.finished
            on_end()
        views = [_view(item, newest(item.name), running[item.name], mine.get(item.name)) for item in items]
        for item in views:
            if item["id"] == which and refusal:
                item["error"] = refusal
        page_error = {"dial": None, "message": refusal} if refusal and which not in by_name else None
        other = elsewhere()
        others = {"id": other, "title": title(other)} if other else None
        return {"items": views, "running": bool(other) or any(item["running"] for item in views), "elsewhere": others, "error": page_error}

    return Piece("experiment", {"id": f"{act}.measure"}, compute, {"act": 0})


def title(name: str) -> str:
    return Machine.title if name == MACHINE else experiment_list.experiment(name).title


def _view(item: Item | Machine, newest: Measured | None, running: Run | None, last: Run | None) -> dict[str, Any]:
    previous = last if last is not None and running is None else None
    return {
        "id": item.name, "title": item.title, "runs": item.runs, "why": item.why, "seconds": show(item.seconds, "s", 2),
        "running": {"share": running.share, "doing": running.doing} if running else None,
        "error": previous.error if previous is not None and previous.state == FAILED else "",
        "cancelled": previous is not None and previous.state == CANCELLED,
        "refused": previous is not None and previous.state == FAILED and previous.noisy,
        "result": item.result(newest),
    }  # fmt: skip


def is_counted(run: Measured) -> bool:
    return all(is_exact(row) for row in run.rows)


def table(run: Measured) -> str:
    """Every row with its median and quantiles, or a figure with its interval; what ran it, and whether the machine was quiet."""
    counted, figures = is_counted(run), all(row["kind"] == "figure" for row in run.rows)
    columns = OF_COUNTS if counted else OF_FIGURES if figures else COLUMNS
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = "".join(f'<tr><th scope="row">{escape(label)}</th>{_cells(row, key, len(columns))}</tr>' for label, row, key in lines(run))
    device = run.machine.get("gpu") or run.machine.get("cpu", "this machine")
    ran = escape(f"{run.library}, Python {run.software.get('python', '')}; {device}; {clock(run.time)}.")
    noisy = run.noisy and not counted
    words = escape(COUNTED if counted else run.verdict)
    verdict = f'<p class="il-noise c-{"warn" if noisy else "good"}"><span aria-hidden="true">{"!" if noisy else "✓"} </span>{words}</p>'
    caption = f"{experiment_list.experiment(run.experiment).title}, measured here"
    table_html = f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return (
        f'<div class="il-scroll" tabindex="0" role="region" aria-label="{caption}">{table_html}</div><p class="il-ran">{ran}</p>{verdict}'
    )  # fmt: skip


def _cells(row: Mapping[str, Any], key: str, columns: int) -> str:
    cells = (amount(float(row[key]), str(row.get("unit", "s"))), span(row, key) or "exact", f"{row['samples']:,}")
    return "".join(f"<td>{cell}</td>" for cell in cells[: columns - 1])


def lines(run: Measured) -> list[tuple[str, Mapping[str, Any], str]]:
    """(label, row, the field that holds its median), in reading order."""
    rows: list[tuple[str, Mapping[str, Any], str]] = []
    for row in run.rows:
        rows.append((label(row), row, "value" if row["kind"] == "figure" else "wall_s"))
        if "sync_s" in row and run.machine.get("backend") != "cpu":
            rows.append((f"{label(row)}, waited for", row, "sync_s"))
    return rows


def label(row: Mapping[str, Any]) -> str:
    params = row.get("params", {})
    if "label" in row:
        return str(row["label"])
    if row["kind"] == "launch":
        return f"{OPS.get(row['op'], row['op'])}, each of {COUNT:,}"
    if row["kind"] == "op":
        return f"{params['dtype'].upper()}, N = {params['n']:,}"
    if row["kind"] == "model":
        return f"batch {params['batch']}, {params['dtype'].upper()}" + ("" if row["mode"] == "eager" else ", replayed as a graph")
    size = f"{params['ops']} op{'s' if params['ops'] > 1 else ''}" if "ops" in params else " × ".join(f"{n:,}" for n in params["shape"])
    return f"{size}, {words(row['mode'])}"
