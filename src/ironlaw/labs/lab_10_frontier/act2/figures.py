"""Act II's pictures: the frontier with its budget, the break-even of the prediction, bytes beside time."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.numerics.storage import csr_breakeven, csr_bytes, nm_storage
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act2.case import BYTES, ERRORS, DigitCase, LlamaCase
from ironlaw.labs.lab_10_frontier.act2.local_runs import beside
from ironlaw.labs.lab_10_frontier.reader import Setting
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.frontier_picture import Budget, scatter
from ironlaw.pictures.lines import lines
from ironlaw.pictures.reveal_picture import rules
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

SIDE = 1024
VALUE, COLUMN = 8, 32  # bits, of the prediction
SHARES = tuple(range(0, 100, 5))
PERPLEXITIES = tuple(value / 10 for value in (*range(60, 100), *range(100, 305, 5)))  # where the limit can be dragged to


def picture(lab: kit.Lab, case: LlamaCase | DigitCase) -> Figure:
    x, y, title, budget = _llama(case) if isinstance(case, LlamaCase) else _reader(case)
    return scatter(case.points, x, y, title, chosen=case.name, budget=budget, note=lab.current_context.label)


def _llama(case: LlamaCase) -> tuple[Axis, Axis, str, Budget]:
    need = case.footprint
    if case.cost == BYTES:
        x, cost, name = Axis("log", "file", "B", (1e9, 2e10)), float(need.usable - need.kv_cache - need.activations), "room"
    else:
        x, cost, name = Axis("log", "time per token", "s", _times(case)), case.limit_s, "within"
    if case.harm == ERRORS:
        y, limit = Axis("log", "perplexity above FP16's", "", (1e-3, 100.0)), max(case.most_ppl - llama.full(), 0.0) or None
    else:
        y, limit = Axis("log", "divergence", "nats", (1e-4, 10.0)), None
    budget = Budget(
        cost, limit, name, harm_words=f"perplexity {significant(case.most_ppl)}",
        cost_drag=None if case.cost == BYTES else hold("limit_ms", per=1e-3),
        harm_drag=hold("most_ppl", "y", stops=[(value - llama.full(), value) for value in PERPLEXITIES if value > llama.full()]),
    )  # fmt: skip
    return x, y, "Llama 3 8B in every published format", budget


def _reader(case: DigitCase) -> tuple[Axis, Axis, str, Budget]:
    if case.cost == BYTES:
        x, cost, name = Axis("log", "file", "B", (1e3, 1e6)), case.room, "room"
    else:
        x, cost, name = Axis("log", "time per image", "s", _times(case)), case.plain_s, "full classifier"
    if case.harm == ERRORS:
        y, limit = Axis("log", "wrong answers", "%", (1.0, 100.0)), 100 * (1 - case.floor)
    else:
        y, limit = Axis("log", "divergence", "nats", (1e-7, 100.0)), None
    budget = Budget(
        cost, limit, name, harm_words=f"{significant(100 * case.floor)}% right",
        cost_drag=hold("room", per=1e3) if case.cost == BYTES else None,
        harm_drag=hold("floor", "y", stops=[(100 - value / 2, value / 2) for value in range(160, 200)]),
    )  # fmt: skip
    return x, y, "The digit classifier in every width and number of bits", budget


def _times(case: LlamaCase | DigitCase) -> tuple[float, float]:
    """Two decades around the plain time, whatever the dials say: the axis stands still on a device."""
    return case.plain_s / 30, case.plain_s * 10


def breakeven(said: float | None, value: int = VALUE, column: int = COLUMN) -> Figure:
    """How large the file is by its share of zeros, and where the prediction put the break-even."""
    dense = SIDE * SIDE * value / 8
    sizes = {
        "only the non-zeros": [(float(s), 100 * csr_bytes(SIDE, (1 - s / 100) * SIDE * SIDE, value, column) / dense) for s in SHARES],
        "dense file": [(0.0, 100.0), (100.0, 100.0)],
    }
    extra = []
    if said is not None:
        guess, truth = rules(said or 1.0, 100 * csr_breakeven(value, column), "%")
        words = f"you said {format_quantity(0, '%')}"
        none = mark("rule", "accent", x=0.0, role="prediction", label=words, name="your prediction", id="prediction")
        extra = [guess if said else none, truth]
    two_four = 100 * nm_storage(2, 4, value)
    kept = "two of every four"
    extra.append(mark("point", "memory", x=50.0, y=two_four, shape="diamond", size=6, label=kept, name=kept, id="two-four"))
    x, y = (
        Axis("linear", "share of zeros", "%", (0.0, 100.0)),
        Axis("linear", "size of the sparse file, of the dense one", "%", (0.0, up_to(100.0 * (1 + column / value)))),
    )
    even = format_quantity(100 * csr_breakeven(value, column), "%")
    title = f"With {column}-bit columns, {value}-bit weights break even at {even} zeros"
    return lines(sizes, x, y, title, extra=extra, id="breakeven", more={"height": 330})


def sizes(lab: kit.Lab, case: LlamaCase | DigitCase) -> Figure:
    """Bytes and time of this configuration, each as a share of the plain one: two bars that need not agree."""
    if isinstance(case, LlamaCase):
        bytes_share, plain = llama.size(case.name) / llama.size(llama.PLAIN), "FP16"
    else:
        bytes_share, plain = case.setting.bytes / Setting().bytes, "FP32"
    bars = {"size": ("memory", bytes_share), "time": ("overhead", case.seconds() / case.plain_s)}
    rows = {name: (colour, 100 * share, f"of {plain}, {case.name}") for name, (colour, share) in bars.items()} | beside(lab)
    most = max(share for _, share, _ in rows.values())
    marks = tuple(
        mark(
            "bar",
            colour,
            x=share,
            y=name,
            label=format_quantity(share, "%"),
            name=name,
            id=f"bar-{name}",
            hover=[("exactly", exact(share, "%")), source],
        )
        for name, (colour, share, source) in rows.items()
    )
    text = "; ".join(f"{name} {format_quantity(share, '%')} {source}" for name, (_, share, source) in rows.items()) + "."
    table = Table(("what", "share", "of"), tuple((name, format_quantity(share, "%"), source) for name, (_, share, source) in rows.items()))
    axis = Axis("linear", f"share of {plain}", "%", (0.0, up_to(max(most, 100.0))))
    return Figure(
        "sizes",
        f"Size and time, compared with {plain}",
        axis,
        Axis("band", names=tuple(rows)),
        marks,
        text,
        table,
        lab.current_context.label,
    )
