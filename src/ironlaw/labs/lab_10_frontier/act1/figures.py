"""Act I's pictures: every answer, divergence by bits, the weights with their levels, and the images whose answer flipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape

from ironlaw.engine.numerics.grids import levels, noise_power, step
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act1.setting import ASKED, FIRST, NETS, SCALES, Setting, tested
from ironlaw.pictures.ends import fitted
from ironlaw.pictures.lines import Points, lines
from ironlaw.pictures.reveal_picture import points_off
from ironlaw.pictures.wall import wall
from ironlaw.registry.compression_tables import BINS, BITS, Squeezed, image, weights_seen
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

KL_MOST = 100.0
KL_ENDS = (1e-7, KL_MOST)
X = Axis("linear", "bits per weight", "", (2.0, 8.0), ticks=tuple(float(b) for b in BITS))
THEORY = "rounding noise alone"
MOST_LINES = 15  # levels of a grid that are drawn one by one
SIDE, CELL = 8, 5


def divergence(setting: Setting, local: Mapping[str, Points] | None = None) -> Figure:
    """The same run on a log axis: a line, and where the noise of the grid alone would put it."""
    name = NETS[setting.net]
    start = setting.at(FIRST).kl
    series = {
        name: setting.curve(),
        **_as_trained(setting, lambda squeezed: squeezed.kl),
        THEORY: [(float(b), noise) for b in BITS if (noise := start * noise_power(b) / noise_power(FIRST)) <= KL_MOST],
    }
    table = [(llama.bits(row), float(cells["kl"])) for row, cells in llama.rows().items() if "_K" in row and "imatrix" not in row]
    heights = [y for points in (*series.values(), table, *(local or {}).values()) for _, y in points]
    now = (name, float(setting.bits)) if setting.narrow else None
    figure = lines(
        series,
        X,
        Axis("log", "divergence", "nats", fitted(heights, KL_ENDS)),
        "How far its answers drift from FP32, by bits",
        measured={"Llama 3 8B, K-quants": table},
        now=now,
        drag=hold("bits"),
        local=local,
        id="divergence",
    )
    return replace(figure, more={"tab": "Divergence", "height": 330})


def accuracy(setting: Setting, said: float | None, true: float) -> Figure:
    """Every answer a square, in FP32 and as set, the wrong ones lit; what was predicted stands where so many squares would be right."""
    full, count = setting.at(32), tested()
    extra = []
    if said is not None:
        asked = "it is" if setting == ASKED else "as asked, it is"
        extra = [
            mark("rule", "accent", x=said, role="prediction", id="guess", name="you said", label=f"you said {format_quantity(said, '%')}",
                 distance=points_off(said, true), hover=[("you said", exact(said, "%"))]),
            mark("rule", "ink", x=true, role="truth", id="truth", name="it is", label=f"{asked} {format_quantity(true, '%')}",
                 hover=[("it is", exact(true, "%"))]),
        ]  # fmt: skip
    right = format_quantity(100 * setting.answers.accuracy.value, "%")
    title = f"{setting.format}, {scale_words(setting)}: {right} right" if setting.narrow else f"{setting.format}: {right} right"
    rows = {"FP32": full.hits} | ({} if setting.bits == 32 else {setting.format: setting.answers.hits})
    figure = wall(rows, count, title, extra=extra, id="accuracy")
    return replace(figure, more={**figure.more, "tab": "Every answer"})


def _as_trained(setting: Setting, figure: Callable[[Squeezed], float]) -> dict[str, Points]:
    """The same grid on the network before its channels were rescaled, to compare with."""
    before = replace(setting, spread=1)
    return {} if setting.spread == 1 else {"the same, not rescaled": [(float(b), figure(before.at(b))) for b in BITS]}


def weights(setting: Setting) -> Figure:
    """How the weights of the largest layer lie, and where the levels of the grid are that has to hold them."""
    seen = weights_seen(setting.net, setting.spread)
    one = setting.scale != "tensor"
    counts, bound = (seen["channel"], seen["channel_bound"]) if one else (seen["layer"], seen["layer_bound"])
    grid = seen["group_bounds"][setting.scale] if setting.scale.isdigit() else bound
    what = "one channel" if one else "the layer"
    shares = [100 * n / sum(counts) for n in counts]
    foot = 10.0 ** math.floor(math.log10(min(share for share in shares if share > 0)))
    width = 2 * bound / BINS
    edges = [-bound + i * width for i in range(BINS + 1)]
    marks = [  # dots: on a log axis a column has no true height
        mark("point", "memory", x=edges[i] + width / 2, y=share, size=4, emphasis=True, id=f"bin-{i}", name=f"weights of {what}",
             hover=[("between", f"{significant(edges[i])} and {significant(edges[i + 1])}"), ("share", f"{significant(share)}%")])
        for i, share in enumerate(shares)
        if share > 0
    ]  # fmt: skip
    if setting.narrow:
        size, count = step(grid, setting.bits, not setting.zero), levels(setting.bits, not setting.zero)
        places = [-grid + i * size for i in range(count)] if count <= MOST_LINES else []
        marks += [mark("rule", "accent", x=place, name="a level", id=f"level-{i}") for i, place in enumerate(places)]
        words = f"{count} levels, {significant(size)} apart" + ("" if places else ", too close to draw")
    else:
        words = f"{setting.format}: nothing is rounded to levels"
    table = tuple((f"{significant(edges[i])} to {significant(edges[i + 1])}", f"{significant(share)}%") for i, share in enumerate(shares))
    return Figure(
        "weights", f"The weights of {what}, and the levels they round to", Axis("linear", "weight", "", (-bound, bound)),
        Axis("log", "share of the weights", "%", (foot, 100.0)), tuple(marks),
        f"Weights of {what} between {significant(-bound)} and {significant(bound)}, {significant(max(shares))}% of them in the fullest "
        f"of {BINS} bins; {words}.",
        Table(("weight", "share"), table), words, more={"tab": "Weights and levels", "height": 330},
    )  # fmt: skip


def flips(setting: Setting) -> str:
    """The images whose answer changed, as small pictures; how many, and what each is taken for."""
    answers = setting.answers
    if not answers.flips:
        return f"<p>All {tested()} answers are as they were in FP32.</p>"
    shown = "".join(_digit(number, now) for number, now in answers.changed)
    first = f", the first {len(answers.changed)} of them:" if answers.flips > len(answers.changed) else ":"
    return f'<p>{answers.flips} of {tested()} answers changed{first}</p><ul class="il-thumbs" role="list">{shown}</ul>'


def _digit(number: int, now: int) -> str:
    label, shades = image(number)
    squares = "".join(
        f'<rect x="{CELL * (i % SIDE)}" y="{CELL * (i // SIDE)}" width="{CELL}" height="{CELL}" fill-opacity="{shade / 15:.2f}"/>'
        for i, shade in enumerate(shades)
        if shade
    )
    words = escape(f"a {label}, now taken for a {now}" if label != now else f"a {label}, now right")
    size = SIDE * CELL
    box = f'width="{size}" height="{size}" viewBox="0 0 {size} {size}"'
    picture = f'<svg {box} role="img" aria-label="{words}" fill="currentColor">{squares}</svg>'
    return f"<li>{picture}<span>{label} → {now}</span></li>"


def scale_words(setting: Setting) -> str:
    if not setting.narrow:
        return "no scale"
    return f"one scale per {SCALES[setting.scale]}{' weights' if setting.scale in ('32', '16') else ''}"
