"""Act I: the dispatch-tax waterfall. Dials to jobs, jobs to pictures; the seconds come from the engine's dispatch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.launched import Spent
from ironlaw.kit import settings
from ironlaw.kit.context import the
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.act1 import curve, local_runs
from ironlaw.labs.lab_07_fusion.jobs import COMPILED, EAGER, GRAPH, QUEUED, SYNC, Job, is_graph
from ironlaw.labs.tables import scrolling_table
from ironlaw.pictures.meter import marks, meter
from ironlaw.pictures.reveal_picture import points_off
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.textbooks import textbook
from ironlaw.systems.fields import among, figure, thousandths
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed
from ironlaw.widget.quantities import format_quantity

MODES = {EAGER: "eager", COMPILED: "compiled", GRAPH: "graph replay"}
DISPATCH = {SYNC: "synchronous", QUEUED: "queued"}
ROUND = (1, 2, 5)
CLAIMS = ("launch_5_to_20_us", "compiling_removes_launches", "framework_choice")
KINDS = {"calibrated": "", "transferred": "≈ from other machines, ", "bound": "at the datasheet's peak, a bound, "}  # before a card's note
MORE = ("memory",)  # dials in the fold


def key(model: str) -> str:
    return model.replace("graph:", "g_")


@dataclass(frozen=True)
class Setting:
    """Where the dials stand, but for the launches of each model, which have dials of their own."""

    model: str = among(jobs.MODELS, jobs.MODELS[0], "Model", dial="select", shown=jobs.name_of)
    mode: str = among(MODES, EAGER, "Execution mode")
    dispatch: str = among(DISPATCH, SYNC, "Launches")
    speed: float = figure(1, "GPU speed", "×", low=0.5, high=4, dial="span", step=0.25)
    memory: float = figure(0, "Extra memory time", "ms", low=0, high=20, dial="span", step=0.5, means=thousandths)


def dials(lab: kit.Lab) -> Any:
    (models,) = settings.dials(Setting, ("model",))
    for option in models["options"]:
        option["group"] = "Real models" if is_graph(option["value"]) else "Textbook models, equal kernels"

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        model, mode = values.get("model") or jobs.MODELS[0], values.get("mode") or EAGER
        fuses = mode == COMPILED or (mode == GRAPH and is_graph(model))
        return [
            models,
            *(_kernels(m, m != model) for m in jobs.MODELS),
            *settings.dials(Setting, ("mode",)),
            *(_removed(m, m != model or not fuses) for m in jobs.MODELS),
            *settings.dials(Setting, ("dispatch", "speed", "memory"), memory={"hidden": is_graph(model)}),
        ]

    return dials_at


def _kernels(model: str, hidden: bool) -> Any:
    count = jobs.kernels_of(model)
    steps = sorted({count, *(digit * 10**power for power in (1, 2, 3) for digit in ROUND), 10_000})
    return kit.span(f"kernels_{key(model)}", "Number of kernels (same total work)", 10, 10_000, count, log=True, hidden=hidden, steps=steps)


def _removed(model: str, hidden: bool) -> Any:
    start = round(100 * jobs.removed_of(model))
    return kit.span(f"removed_{key(model)}", "Launches that compiling removes", 0, 80, start, unit="%", hidden=hidden)


def job_of(lab: kit.Lab, values: Mapping[str, Any], model: str) -> Job:
    count, removed = round(values[f"kernels_{key(model)}"]), values[f"removed_{key(model)}"] / 100
    setting = settings.read(Setting, values)
    return Job(model, lab.current_context, count, removed, setting.speed, 0.0 if is_graph(model) else setting.memory)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values)
    job, mode, dispatch = job_of(lab, values, setting.model), setting.mode, setting.dispatch
    chosen = row_name(mode, dispatch)
    runs = {(m, d): job.run(m, d) for m in dict.fromkeys((EAGER, mode)) for d in DISPATCH}
    rows = {row_name(m, d): parts(run) for (m, d), run in runs.items()}
    shares = {row_name(m, d): job.utilization(m, d) for m, d in runs}
    local_jobs = local_runs.textbook_jobs(lab, job)
    rows |= {name: parts(own.run(EAGER, SYNC)) for name, own in local_jobs.items()} | local_runs.walls(lab, job)
    shares |= {name: own.utilization(EAGER, SYNC) for name, own in local_jobs.items()}
    drawn = tabbed(curve.picture(lab, _as_set(job, mode, dispatch)), "Your curve" if curve.heights(lab) else "By kernel length")
    return kit.View(
        figures=[
            *([drawn] if curve.heights(lab) else []),
            tabbed(meter(shares, _share_title(job, shares[chosen]), chosen=chosen, extra=marks_of(lab), note=MODES[mode]),
                   "Share of wall time"),
            tabbed(stack(rows, "s", _time_title(runs[mode, dispatch]), chosen=chosen, label="wall time of one pass",
                         note=case_label(lab, job), id="waterfall"), "Where the time goes"),
            *([] if curve.heights(lab) else [drawn]),
        ],
        cards=cards(job, mode, dispatch),
        formula=formula(job, mode, dispatch),
        note=notes(lab, job, mode),
        after=table(lab, values),
        readouts=readouts(lab, values),
    )  # fmt: skip


def _share_title(job: Job, share: float) -> str:
    what = "The device has work for" if is_graph(job.model) else "Maths takes"
    return f"{what} {significant(share)}% of the wall time"


def _time_title(run: Spent) -> str:
    return f"Dispatch takes {format_quantity(run.dispatch, 's')} of {format_quantity(run.wall, 's')}"


def _as_set(job: Job, mode: str, dispatch: str) -> tuple[float, float] | None:
    """Where the dials stand on the curve: compute in one kernel, and the share. A real graph's kernels differ."""
    if is_graph(job.model):
        return None
    run = job.run(mode, dispatch)
    return run.compute / run.launches, job.utilization(mode, dispatch)


def row_name(mode: str, dispatch: str) -> str:
    return MODES[mode] if mode == GRAPH else f"{MODES[mode]}, {DISPATCH[dispatch]}"


def parts(run: Spent) -> list[Part]:
    return [
        Part("compute", run.compute, "compute"),
        Part("memory", run.memory if run.memory > 1e-15 else 0.0, "memory"),
        Part("kernel floor", run.floor, "overhead", pattern=True),
        Part("dispatch", run.dispatch if run.dispatch > 1e-15 else 0.0, "overhead"),
    ]


def marks_of(lab: kit.Lab) -> tuple[Any, ...]:
    """Where you said it would be, and where it is at the prediction's premises."""
    option = lab.choice("act1")
    if option is None:
        return ()
    claim, true = float(option.value), float(lab.question("act1").answer)
    return marks(claim, true, points_off(claim, true))


def case_label(lab: kit.Lab, job: Job) -> str:
    return f"{jobs.name_of(job.model)}, {lab.current_context.label}"


def readouts(lab: kit.Lab, values: Mapping[str, Any]) -> dict[str, Any]:
    spotter = job_of(lab, values, "kws")
    return {
        "execution_mode": values["mode"],
        "dispatch": values["dispatch"],
        "kws_utilization_eager_pct": round(spotter.utilization(EAGER, values["dispatch"]), 2),
        "kws_utilization_compiled_pct": round(spotter.utilization(COMPILED, values["dispatch"]), 2),
    }


def cards(job: Job, mode: str, dispatch: str) -> list[dict[str, Any]]:
    way = QUEUED if dispatch == SYNC else SYNC
    run, other = job.run(mode, dispatch), job.run(mode, way)
    share = job.utilization(mode, dispatch)
    comparison = "" if mode == GRAPH else f"{significant(run.wall / other.wall)}× as long as {DISPATCH[way]}"
    count_note = f"for {run.launches:,} kernels" if mode == GRAPH else f"{job.kernels:,} eager"
    dispatch_card = kit.card("Dispatch", run.dispatch, "s", note="GPU idle, waiting for launches", source=jobs.launch_source(job.context))
    return [
        kit.card("Utilisation", share, "%", tone=kit.tone("utilization", share / 100)),
        kit.card("Wall time", run.wall, "s", note=comparison),
        {**dispatch_card, "term": "overhead"},
        kit.card("Compute", run.compute, "s", note=_compute_note(job, mode), term="compute"),
        kit.text_card("Launches", f"{1 if mode == GRAPH else run.launches:,}", note=count_note),
    ]


def _compute_note(job: Job, mode: str) -> str:
    """A real graph's arithmetic at the datasheet's peak is nanoseconds that no kernel takes: it says so."""
    speed = f"at {significant(job.speed)}× GPU speed"
    if not is_graph(job.model):
        return speed
    return f"{KINDS[jobs.prediction(job.model, jobs.Machine(job.context), mode).basis]}{speed}"


def formula(job: Job, mode: str, dispatch: str) -> str:
    """U with the current figures in it."""
    run, launch = job.run(mode, dispatch), kit.amount(job.launch, "s")
    top = term("compute", kit.amount(run.busy if is_graph(job.model) else run.compute, "s"))
    result = f"{kit.amount(job.utilization(mode, dispatch), '%')}"
    each = kit.amount(run.busy / run.launches, "s")
    if mode == GRAPH:
        wall, filled = (
            "<i>t</i><sub>l</sub> + <i>N</i>·<i>t</i><sub>k</sub>",
            f"{kit.amount(run.dispatch, 's')} + {run.launches:,} × {each}",
        )
    elif is_graph(job.model):
        wall, filled = "wall", kit.amount(run.wall, "s")
    elif dispatch == SYNC:
        wall = "<i>N</i>·(<i>t</i><sub>c</sub> + <i>t</i><sub>l</sub>) + <i>t</i><sub>mem</sub>"
        filled = f"{run.launches:,} × ({kit.amount(run.compute / run.launches, 's')} + {launch}) + {kit.amount(run.memory, 's')}"
    else:
        wall = "max(<i>N</i>·<i>t</i><sub>l</sub> + <i>t</i><sub>k</sub>, <i>t</i><sub>l</sub> + <i>N</i>·<i>t</i><sub>k</sub>)"
        filled = f"max({run.launches:,} × {launch} + {each}, {launch} + {run.launches:,} × {each})"
    symbol = "busy" if is_graph(job.model) else "<i>N</i>·<i>t</i><sub>c</sub>"
    return line("<i>U</i> =", fraction(symbol, wall)) + line("=", fraction(top, filled), "=", result)


def table(lab: kit.Lab, values: Mapping[str, Any]) -> str:
    """The three textbook models side by side, as their own dials stand; one function for all."""
    dispatch = values["dispatch"]

    def row(model: str) -> tuple[str, ...]:
        job = job_of(lab, values, model)
        each = textbook(model).compute_s / job.speed / job.kernels
        return (jobs.name_of(model), f"{job.kernels:,}", kit.amount(each, "s"), kit.amount(job.launch, "s"),
                kit.amount(job.utilization(EAGER, dispatch), "%"), kit.amount(job.utilization(COMPILED, dispatch), "%"))  # fmt: skip

    names = ("Model", "Kernels", "Compute per kernel", "Launch cost", "Eager", "Compiled")
    return scrolling_table(f"The three textbook models, {DISPATCH[dispatch]} launches", names, [row(model) for model in jobs.TEXTBOOKS])


def notes(lab: kit.Lab, job: Job, mode: str) -> str:
    here = lab.current_context
    launch = kit.amount(job.launch, "s")
    paragraphs = [lab.fill("act1.launch", device=the(here), launch=launch, source=jobs.launch_source(here))]
    if is_graph(job.model):
        paragraphs += [_device_time(lab, job, mode), lab.fill("act1.measured", **measured_slots(job.model))]
    else:
        paragraphs.append(lab.fill("act1.kept"))
    if mode == GRAPH:
        paragraphs.append(lab.fill("act1.replay"))
    paragraphs.append(lab.fill("act1.mark"))
    return kit.html("\n\n".join(paragraphs))


def _device_time(lab: kit.Lab, job: Job, mode: str) -> str:
    prediction = jobs.prediction(job.model, jobs.Machine(lab.current_context), mode)
    return lab.fill(f"act1.device_{prediction.basis}", device=the(lab.current_context))


def measured_slots(model: str) -> dict[str, object]:
    eager, compiled, replayed = (jobs.measured_run(model, mode) for mode in (EAGER, COMPILED, GRAPH))
    return {
        "kernels": significant(eager.value("kernels"), 4), "busy": kit.amount(eager.value("busy_s"), "s"),
        "wall": kit.amount(eager.value("wall_s"), "s"),
        "piped": kit.amount(eager.value("piped_s"), "s"), "share": kit.share(eager.value("busy_s"), eager.value("piped_s")),
        "compiled_kernels": significant(compiled.value("kernels"), 4), "compiled_wall": kit.amount(compiled.value("wall_s"), "s"),
        "compiled_busy": kit.amount(compiled.value("busy_s"), "s"), "replayed": kit.amount(replayed.value("wall_s"), "s"),
        "source": jobs.source(),
    }  # fmt: skip
