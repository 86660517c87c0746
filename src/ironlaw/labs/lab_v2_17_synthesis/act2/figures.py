"""Act II's pictures: the waterfall from peak to tokens that last, the tornado of days, and the room of every constraint."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_17_synthesis.act2.readings import rows
from ironlaw.pictures import margins as pictures
from ironlaw.pictures.cascade import Step, cascade
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.tornado_picture import tornado
from ironlaw.systems.whole import Design, Report, evaluate
from ironlaw.systems.whole.whole_levers import CHANGE
from ironlaw.systems.whole.whole_levers import tornado as bars_of
from ironlaw.widget.figure import Figure

LEVERS = {
    "flops": "FLOP/s", "hbm": "GPU memory", "nvlink": "NVLink", "nics": "network", "mtbf": "time between failures",
    "host": "link to the host", "storage": "file system",
}  # fmt: skip
COLOURS = {"communication": "overhead", "failures and saves": "good"}
# factor of the waterfall -> the lab whose law it is
LAWS = {
    "kernels below the peak": "Lab 11", "recomputing, updating": "Lab V2-05", "communication": "Lab V2-06",
    "pipeline bubble": "Lab V2-05", "failures and saves": "Lab V2-07",
}  # fmt: skip
MILLION = 1e6


def waterfall(report: Report) -> Figure:
    """The axis holds still while layout and servers are turned: it ends with the peak of these GPUs."""
    steps = [Step(one.name, min(1.0, one.share), COLOURS.get(one.name, "compute"), f"{LAWS[one.name]}'s law") for one in report.factors]
    return cascade(
        "peak", report.peak / MILLION, steps, "", "From peak to useful tokens", label="million tokens per second",
        domain=(0.0, 1.12 * report.peak / MILLION), id="waterfall", note="training only; each row is the one above times its figure",
    )  # fmt: skip


def levers(lab: kit.Lab, design: Design) -> Figure:
    option = lab.choice("act2")
    bars, now = bars_of(design), evaluate(design).values["days"]
    ends = [end for bar in bars for end in (bar.low, bar.high)]
    low, high = min(ends), max(ends)
    room = max(high - low, 0.02 * now)
    longest = LEVERS[bars[0].name]
    drawn = tornado(
        bars, now, "", f"{longest[0].upper()}{longest[1:]} is the longest lever on the days", names=LEVERS, change=CHANGE,
        label="days to train", domain=(low - 0.1 * room, high + 0.75 * room),
    )  # fmt: skip
    drawn = replace(drawn, note="next to each bar: change in the days, in %, for 1% more")
    return on_rows(drawn, [LEVERS[str(option.value)]], LEVERS[str(lab.question("act2").right.value)]) if option else drawn


def room(report: Report) -> Figure:
    return pictures.margins(rows(report))
