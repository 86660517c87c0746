"""Act I's pictures: memory of each device, slots by context for four ways to keep keys and values, and a decode step by its batch."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_10_kv_serving.act1 import local_runs
from ironlaw.labs.lab_v2_10_kv_serving.act1.memory import ASKED, CONTEXTS, Setting
from ironlaw.measure.experiments import kv_decode
from ironlaw.pictures.blocks_picture import MOST, Piece, blocks
from ironlaw.pictures.ends import fitted
from ironlaw.pictures.lines import Points, lines, upright
from ironlaw.pictures.theme import HELD
from ironlaw.registry.publications import published
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.deployments import arithmetic
from ironlaw.systems.serving.kv_capacity import step_bytes
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
STEPS, REQUESTS = (1e-4, 10.0), (0.1, 1e6)  # seconds, and how many
SHORT = 1024  # contexts up to here may stand beside a chat's


def place(setting: Setting) -> str:
    many = f"{setting.devices}× " if setting.devices > 1 else ""
    return f"{about(setting.model)['name']} on {many}{setting.machine.name}"


def memory(setting: Setting) -> Figure:
    pieces = [Piece("weights", min(setting.weight_bytes, setting.share * setting.total), colour=HELD["weights"])]
    lengths = setting.lengths
    each = max(1, -(-len(lengths) // MOST))
    for i in range(0, len(lengths), each):
        group = lengths[i : i + each]
        used = sum(group) * setting.shape.token_bytes
        name = f"request {i + 1}" if each == 1 else f"requests {i + 1}–{i + len(group)}"
        held = sum(setting.held(tokens) for tokens in group)
        pieces.append(Piece(name, used, held - used, i // each, hover=(("tokens", f"{sum(group):,}"),), count=len(group)))
    left = (1 - setting.share) * setting.total
    if left > 0:
        pieces.append(Piece("off limits to the engine", left, colour="ink"))
    legend = ((HELD["weights"], "weights", False),) + ((("ink", "off limits to the engine", False),) if left > 0 else ())
    title = "Every device holds its part of the weights and of every cache" if setting.devices > 1 else "What the device holds"
    return blocks(pieces, setting.total, title, devices=setting.devices, note=place(setting), id="memory", legend=legend)


def by_context(lab: kit.Lab, setting: Setting) -> Figure:
    series: dict[str, Points] = {
        name: [(float(n), max(1e-3, setting.fit(shape, n))) for n in CONTEXTS] for name, shape in setting.kinds.items()
    }
    here = max(1e-3, setting.fit(setting.shape, setting.context))
    option = lab.choice("act1")
    guessed = option is not None and setting.context == ASKED and float(option.value) == int(here)
    extra: list[Mark] = [
        mark("point", "accent", x=float(setting.context), y=here, size=8, id="point", name="as set",
             label=f"{int(here):,} fit{', as you said' if guessed else ''}" if here >= 1 else "none fits",
             hover=[("tokens per request", f"{setting.context:,}"), ("requests", exact(here, ""))], drag=hold("context"))
    ]  # fmt: skip
    if option is not None:
        said, truth = float(option.value), float(lab.question("act1").answer)
        words = (
            {"it is": f"you said {said:g}, and it is"} if said == truth else {"you said": f"you said {said:g}", "it is": f"it is {truth:g}"}
        )
        for name, value, colour, shape in (("you said", said, "accent", "diamond"), ("it is", truth, "ink", "square")):
            extra.append(
                mark("point", colour, x=float(ASKED), y=value, shape=shape, size=6, hollow=name == "you said", id=name, name=name,
                     role="prediction" if name == "you said" else "truth",
                     label="" if setting.context == ASKED and value == int(here) else words.get(name, ""),
                     hover=[("asked about", f"{ASKED:,} tokens"), ("requests", f"{value:g}")])
            )  # fmt: skip
    heights = [y for points in series.values() for _, y in points] + [float(dict(one.at)["y"]) for one in extra]
    return lines(
        series, Axis("log", "tokens per request", "", (float(CONTEXTS[0]), float(CONTEXTS[-1]))),
        Axis("log", "requests", "", fitted(heights, REQUESTS)),
        "Requests that fit", extra=extra, note=place(setting), id="by-context",
    )  # fmt: skip


def step(setting: Setting) -> Figure:
    """Terms of one decode step; the longer of bytes and arithmetic is what no step stays under."""
    rate = setting.devices * float(setting.machine.bandwidth)
    peak = setting.devices * float(setting.machine.peak(arithmetic(setting.machine)))

    def moved(batch: int) -> tuple[float, float]:
        return step_bytes(setting.model, setting.machine.slug, batch, setting.context, weights=setting.weights, cache=setting.cache)

    series: dict[str, Points] = {
        "weights and cache": [(float(b), sum(moved(b)) / rate) for b in BATCHES],
        "weights alone": [(float(b), moved(b)[0] / rate) for b in BATCHES],
        "arithmetic": [(float(b), 2.0 * setting.decoder.matrices * b / peak) for b in BATCHES],
    }
    rows = chats(setting)
    times = [seconds for points in (*series.values(), rows) for _, seconds in points]
    extra = [upright(float(setting.slots), f"{setting.slots:,} fit", "requests that fit", "")] if 1 <= setting.slots <= BATCHES[-1] else []
    return lines(
        series, Axis("log", "sequences per step", "", (1.0, 1024.0)), Axis("log", "time per step", "s", fitted(times, STEPS)),
        "Lower bound on a decode step", measured={"vLLM": rows} if rows else {}, measured_on="H100, ML.ENERGY", extra=extra,
        note=place(setting), id="step",
    )  # fmt: skip


def chats(setting: Setting) -> list[tuple[float, float]]:
    """(sequences, seconds between tokens) that others measured on such a server; empty where nobody did, or contexts are others."""
    if setting.machine.slug != "h100_sxm" or setting.weights or setting.cache or setting.context > SHORT:
        return []
    rows = published("ml_energy").where(model=setting.model, devices=setting.devices)
    return [(float(row["batch"]), float(row["itl"])) for row in rows]


def here(lab: kit.Lab) -> Figure | None:
    """The learner's own decoder: what it took, beside lines through its shortest run that grow as the tokens and as their square."""
    run = lab.local_run("kv_decode")
    if run is None:
        return None
    times = {way: local_runs.times(run, way) for way in kv_decode.WAYS}
    if not all(times.values()):
        return None
    (n, with_cache), (_, without) = (points[0] for points in times.values())
    series: dict[str, Points] = {
        "proportional to the tokens": [(m, with_cache * m / n) for m, _ in times[kv_decode.CACHED]],
        "proportional to their square": [(m, without * (m / n) ** 2) for m, _ in times[kv_decode.UNCACHED]],
    }
    low = min(value for points in (*series.values(), *times.values()) for _, value in points)
    high = max(value for points in (*series.values(), *times.values()) for _, value in points)
    return lines(
        series, Axis("log", "tokens generated", "", (10.0, 200.0)), Axis("log", "time", "s", (low / 2, high * 2)),
        "A small decoder on this machine", local={kv_decode.WAYS[way]: points for way, points in times.items()},
        note=f"{format_quantity(without / with_cache, '×')} as long without, at {n:,.0f} tokens", id="here",
    )  # fmt: skip
