"""Act I's pictures: waste by interval, a day of the job, and the job that was killed here."""

from __future__ import annotations

import math

from ironlaw import kit
from ironlaw.engine.cluster.failures import goodput
from ironlaw.labs.lab_v2_07_checkpoint.act1 import local_runs
from ironlaw.labs.lab_v2_07_checkpoint.act1.interval import DAY, GRID, LAWS, LONGEST, MINUTE, SHORTEST, Setting, near_best
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.lifeline import lifeline
from ironlaw.pictures.lines import lines
from ironlaw.units import percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

TICKS = (0.1, 1.0, 10.0, 100.0, 1000.0)
SHAPES = {"Young": "square", "Daly": "triangle"}
APART = 0.1  # of an interval: what can be told from the best on this axis
# from the bottom: (part, its name, colour)
PARTS = (("restart", "detecting and restarting", "overhead"), ("lost", "lost work", "fail"), ("writing", "saving", "memory"))


def waste(lab: kit.Lab, setting: Setting) -> Figure:
    """Percent of the time by interval, in three parts on each other; the best interval, and those that are nearly as good."""
    marks: list[Mark] = []
    low, high = (min(max(end / MINUTE, SHORTEST), LONGEST) for end in near_best(setting))
    if low < high:
        marks.append(mark("area", "muted", x0=low, x1=high, y0=0.0, y1=100.0, id="near", name="at most a tenth above the best",
                          hover=[("from", format_quantity(low * MINUTE, "s")), ("to", format_quantity(high * MINUTE, "s"))]))  # fmt: skip
    foot = [0.0] * len(GRID)
    for part, name, colour in PARTS:
        top = [at + 100 * float(getattr(setting.at(minutes * MINUTE).shares, part)) for at, minutes in zip(foot, GRID, strict=True)]
        marks.append(mark("area", colour, points=list(zip(GRID, foot, top, strict=True)), id=f"area-{part}", name=name))
        if part != PARTS[-1][0]:
            marks.append(mark("line", colour, points=list(zip(GRID, top, strict=True)), id=f"top-{part}", name=name))
        foot = top
    marks.append(mark("line", "ink", points=list(zip(GRID, foot, strict=True)), id="wasted", name="all waste"))
    apart = {name: seconds for name, seconds in setting.estimates.items() if abs(math.log(seconds / setting.best)) > APART}
    own, best = 100 * setting.wasted, 100 * setting.at(setting.best).wasted
    at_best = min(max(setting.best / MINUTE, SHORTEST), LONGEST)
    marks.append(mark("point", "good", x=at_best, y=best, shape="diamond", size=7, id="best", name="the best interval",
                      hover=[("interval", format_quantity(setting.best, "s")), ("waste", exact(best, "%"))]))  # fmt: skip
    for name, seconds in apart.items():
        at = min(max(seconds / MINUTE, SHORTEST), LONGEST)
        value = 100 * setting.at(seconds).wasted
        marks.append(mark("point", "ridge", x=at, y=value, shape=SHAPES[name], size=5, id=name,
                          name=f"{name}'s interval",
                          hover=[("interval", format_quantity(seconds, "s")), ("waste", exact(value, "%"))]))  # fmt: skip
    marks.append(mark("point", "accent", x=setting.interval / MINUTE, y=own, size=8, id="now", name="as set",
                      label=f"{significant(own)}%",
                      hover=[("interval", format_quantity(setting.interval, "s")), ("waste", exact(own, "%"))],
                      drag=hold("interval")))  # fmt: skip
    option = lab.choice("act1")
    if option is not None:
        answer = float(lab.question("act1").answer)
        marks += reveal_picture.rules(float(option.value), answer, "min", now=setting.best / MINUTE)
    rows = [("as set", setting.interval), ("the best", setting.best), *setting.estimates.items()]
    cells = []
    for name, seconds in rows:
        shares = setting.at(seconds).shares
        parts = (1 - float(shares.goodput), float(shares.writing), float(shares.lost), float(shares.restart))
        cells.append((name, format_quantity(seconds, "s"), *(percent(part) for part in parts)))
    text = (
        f"Saved every {format_quantity(setting.interval, 's')}, {significant(own)}% of the time is wasted; at best, every "
        f"{format_quantity(setting.best, 's')}, it is {significant(best)}%. From {format_quantity(low * MINUTE, 's')} to "
        f"{format_quantity(high * MINUTE, 's')} it is at most a tenth more than saves and lost work must cost."
    )
    near = " and ".join(f"{name}'s" for name in setting.estimates if name not in apart)
    legend = (
        *({"colour": colour, "label": name} for _, name, colour in reversed(PARTS)),
        {"colour": "good", "shape": "diamond", "label": f"the best interval, and {near}" if near else "the best interval"},
        *({"colour": "ridge", "shape": SHAPES[name], "label": f"{name}'s"} for name in apart),
    )  # fmt: skip
    return Figure(
        "waste", f"Saving every {format_quantity(setting.interval, 's')} wastes {percent(setting.wasted)} of the time",
        Axis("log", "minutes between saves", "", (SHORTEST, LONGEST), ticks=TICKS),
        Axis("linear", "wasted, of the time", "%", (0.0, 100.0)), tuple(marks), text,
        table=Table(("interval", "minutes", "waste", "saving", "lost", "restarts"), tuple(cells)),
        note=f"failures {LAWS[setting.law]}, {format_quantity(setting.between, 's')} between them", legend=legend,
    )  # fmt: skip


def day(setting: Setting, hours: float) -> Figure:
    note = f"one draw, failures {LAWS[setting.law]}; {format_quantity(setting.between, 's')} between them on average"
    return lifeline(setting.day, DAY, 3600.0 * hours, note=note)


def killed(run: kit.Measured) -> Figure:
    """Work that lasted on the learner's machine, beside the law with the save and the start as measured."""
    job = local_runs.job(run)
    grid = [job.intervals[0] * (job.intervals[-1] / job.intervals[0]) ** (i / 24) for i in range(25)]
    law = [(tau, 100 * float(goodput(tau, job.save, job.restart, job.between).goodput)) for tau in grid]
    return lines(
        {"the formula, with these times": law}, Axis("log", "between saves", "s"), Axis("linear", "useful work", "%", (0.0, 100.0)),
        "The job that was killed here", local={run.source: list(zip(job.intervals, job.values, strict=True))}, id="killed",
        note=f"{job.kills} kills at each interval, {format_quantity(job.between, 's')} apart on average",
    )  # fmt: skip
