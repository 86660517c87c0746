"""Act II's pictures: buckets behind the backward pass, what shows by bucket, what one device holds."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.cluster.buckets import Queue
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import ALGORITHMS, BUCKETS, SIZES, Case, best_bucket, exposed_by_bucket
from ironlaw.pictures.ends import fitted
from ironlaw.pictures.lines import lines
from ironlaw.pictures.reveal_picture import rules
from ironlaw.registry.workloads import about
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity, share

MOST = 32  # bars of a row that can be told apart
PASS, SUM = "backward pass", "all-reduces"
SHOWS = (1e-5, 1e3)  # seconds
STOPS = [[size, size / 1e6] for size in SIZES]
SPLIT = {0: "optimiser on each device", 1: "optimiser split"}


def name_of(case: Case) -> str:
    groups = f", TP {case.tensor} × DP {case.data}" if case.tensor > 1 else ""
    return f"{about(case.model)['name']} on {case.devices:,} devices{groups}"


def over_time(case: Case) -> Figure:
    """From the begin of the pass to the end of the last sum; what comes after the pass is hatched."""
    queue = case.step.queue
    whole = max(queue.end(queue.count), queue.backward)
    stride = -(-queue.count // MOST)
    groups = [(i, min(i + stride - 1, queue.count)) for i in range(1, queue.count + 1, stride)]
    marks: list[Mark] = []
    for index, (first, last) in enumerate(groups):
        made = _made(queue, first - 1), _made(queue, last)
        marks.append(_bar(f"pass-{index}", PASS, made, whole, "compute", first=first, last=last, emphasis=index % 2 == 0))
        start, end = queue.start(first), queue.end(last)
        for after, (low, high) in ((False, (start, min(end, queue.backward))), (True, (max(start, queue.backward), end))):
            if high > low:
                marks.append(
                    _bar(f"sum-{index}{'-after' * after}", SUM, (low, high), whole, "overhead" if after else "memory", first=first,
                    last=last,
                         emphasis=index % 2 == 0, after=after)
                )  # fmt: skip
    ends = mark("rule", "ink", x=100 * queue.backward / whole, dash=True, id="pass-ends", label="pass ends", name="pass ends",
                hover=[("backward pass", exact(queue.backward, "s"))])  # fmt: skip
    each = "each a bar" if stride == 1 else f"{stride} to a bar"
    text = (
        f"{queue.count:,} buckets, {each}: the backward pass takes {format_quantity(queue.backward, 's')}, the all-reduces"
        f" {format_quantity(queue.seconds, 's')}, of which {format_quantity(queue.exposed, 's')} come after the pass."
    )
    table = tuple(
        (f"{first:,} to {last:,}" if last > first else f"{first:,}", format_quantity(queue.ready(last), "s"),
         format_quantity(queue.start(first), "s"), format_quantity(queue.end(last), "s"))
        for first, last in groups
    )  # fmt: skip
    legend = (
        {"colour": "compute", "label": "gradients become ready"}, {"colour": "memory", "label": "hidden behind the pass"},
        {"colour": "overhead", "pattern": True, "label": "exposed after it"},
    )  # fmt: skip
    return Figure(
        "timeline", f"{format_quantity(queue.exposed, 's')} stick out after the backward pass",
        Axis("linear", "time, of the pass and its all-reduces", "%", (0.0, 100.0)),
        Axis("band", names=(PASS, SUM)), (*marks, ends), text,
        table=Table(("buckets", "ready at", "first sum starts", "last one ends"), table),
        note=f"{name_of(case)}, {queue.count:,} buckets, {each}; 100% is {format_quantity(whole, 's')}", legend=legend,
        more={"stacked": True, "row": 48},
    )  # fmt: skip


def _made(queue: Queue, i: int) -> float:
    """When the i-th bucket's last gradient is made, in whatever order they go out."""
    return queue.backward * min(1.0, i * queue.full / queue.gradients)


def _bar(
    id: str, row: str, ends: tuple[float, float], whole: float, colour: str, first: int, last: int, emphasis: bool, after: bool = False
) -> Mark:
    hover = [("buckets", f"{first:,} to {last:,}" if last > first else f"{first:,}"), ("from", format_quantity(ends[0], "s")),
             ("to", format_quantity(ends[1], "s"))]  # fmt: skip
    low, high = (100 * end / whole for end in ends)
    return mark(
        "bar", colour, x0=low, x1=high, y=row, id=id, name=f"{row}, bucket {first:,}", hover=hover, pattern=after, emphasis=emphasis
    )


def by_bucket(case: Case) -> Figure:
    """Seconds after the pass for each size of a bucket; where least shows, and where the dial stands."""
    names = list(dict.fromkeys((case.algorithm, "ring", "two_level", "double_tree")))[:4]
    series = {ALGORITHMS[name]: [(x, _held(y)) for x, y in exposed_by_bucket(replace(case, algorithm=name))] for name in names}
    best = best_bucket(case)
    least = replace(case, bucket=best).step.queue.exposed
    shown = case.step.queue.exposed
    extra = [
        mark("point", "good", x=best, y=_held(least), shape="diamond", size=7, id="least", name="least exposed",
             label=format_quantity(best, "B"),
             hover=[("bucket", exact(best, "B")), ("after the pass", exact(least, "s"))]),
        mark("point", "accent", x=case.bucket, y=_held(shown), size=8, id="point", name="as set",
             hover=[("bucket", exact(case.bucket, "B")), ("after the pass", exact(shown, "s")),
                    ("of the step", share(shown, case.step.step.total))],
             drag=hold("bucket", stops=STOPS)),
    ]  # fmt: skip
    heights = [y for points in series.values() for _, y in points]
    title = f"Buckets of {format_quantity(best, 'B')} leave the least exposed"
    return lines(
        series, Axis("log", "bucket", "B", BUCKETS), Axis("log", "exposed after the pass", "s", fitted(heights, SHOWS)), title,
        extra=extra, note=f"{name_of(case)}, {ALGORITHMS[case.algorithm]}", id="by-bucket",
    )  # fmt: skip


def _held(seconds: float) -> float:
    return min(max(seconds, SHOWS[0]), SHOWS[1])


def steps_and_bytes(lab: kit.Lab, case: Case, truths: dict[str, float]) -> Figure:
    """How much of a bucket's sum is steps, by each algorithm as set, and on that axis what the learner said of the question's ring."""
    shares = {name: 100 * replace(case, algorithm=key).step.latency_share for key, name in ALGORITHMS.items()}
    bars = [
        mark("bar", "overhead", x=value, y=name, id=name, name=name, label=format_quantity(value, "%"),
             emphasis=name == ALGORITHMS[case.algorithm], hover=[("latency, of the all-reduce", exact(value, "%"))])
        for name, value in shares.items()
    ]  # fmt: skip
    option, estimate = lab.choice("act2"), lab.sealed("act2", "estimate")
    said = list(rules(float(option.value), truths["ring"], "%", truth_label="the ring's is")) if option else []
    if estimate:
        said.append(mark("rule", "accent", x=float(estimate), dash="2 4", id="estimate", name="your estimate of the double tree",
                         label=f"double tree: you said {estimate:g}%, it is {truths['double tree']:.3g}%",
                         hover=[("double tree", exact(truths["double tree"], "%"))]))  # fmt: skip
    words = "; ".join(f"{name} {format_quantity(value, '%')}" for name, value in shares.items())
    rows = tuple((name, format_quantity(value, "%"), exact(value, "%")) for name, value in shares.items())
    return Figure(
        "steps-share", f"Latency is {format_quantity(shares[ALGORITHMS[case.algorithm]], '%')} of an all-reduce",
        Axis("linear", "latency, of the all-reduce", "%", (0.0, 100.0)),
        Axis("band", names=tuple(shares)), (*bars, *said), f"{words}.", Table(("algorithm", "latency", "exactly"), rows), name_of(case),
        more={"row": 34},
    )  # fmt: skip
