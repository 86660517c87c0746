"""A prediction in one line, as a small table, and as JSON takes it. `p` is an `engine.device.prediction.Prediction`."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from ironlaw.engine.arrays import SCALARS, Number
from ironlaw.engine.device.rounding import narrowed_kinds
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.uncertainty import SAID, Interval
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import PredictionHost

SCHEMA = "ironlaw-prediction/1"  # of `to_dict`, and of what the command line writes as JSON


def one_line(p: Any) -> str:
    """One line: what is run where, how long it takes, and how sure that is."""
    what = f"{p.graph.name} on {p.hardware.slug}, {p.plan.mode}"
    if not isinstance(p.seconds, SCALARS):
        return f"<Prediction {what}: a sweep of {points(p.seconds).size} points, {p.label}>"
    likely = f", likely {span(p.interval)}" if p.interval else ""
    return f"<Prediction {what}: {show(p.seconds, 's')}{likely}, bound by {p.bound}, {p.label}>"


def as_html(p: Any) -> str:
    """The same as a small table, for notebooks."""
    if not isinstance(p.seconds, SCALARS):
        return f"<code>{escape(one_line(p))}</code>"
    rows = {"time": show(p.seconds, "s"), "likely": span(p.interval) if p.interval else "–", "bound by": p.bound}
    rows |= {"device": show(p.busy_s, "s"), "host": show(p.host_s, "s"), "kernels": f"{p.kernels:,.0f}", "figures": p.label}
    if p.calibrated and p.beyond > SAID:
        rows["outside what was measured"] = f"{p.beyond:.0%}: {', '.join(name for name, _ in p.outside)}"
    title = escape(f"{p.graph.name} on {p.hardware.name}, {p.plan.mode}")
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items())
    return f"<table><caption>{title}</caption>{cells}</table>"


def as_dict(p: Any, ops: int | None = None) -> dict[str, Any]:
    """As JSON takes it, with a version of its schema. `ops`: the operators that take most device time; all where None is given.
    An open end of an interval is None."""
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "workload": p.graph.name,
        "dtype": p.graph.dtype,
        "hardware": p.hardware.slug,
        "host": host_dict(p),
    }
    out |= {"mode": p.plan.mode, "dispatch": p.plan.dispatch, "label": p.label, "basis": p.basis, "calibrated": p.calibrated}
    names = ("seconds", "overlap", "data_s", "compute_s", "overhead_s", "busy_s", "host_s", "bound", "utilization", "mfu", "kernels")
    out |= {name: plain(getattr(p, name)) for name in names}
    out |= {name: ends(getattr(p, name)) for name in ("interval", "device_interval", "host_interval")}
    out |= {"measured_shares": dict(p.shares) if p.calibrated else None}
    out["outside"] = [{"operator": name, "share": share} for name, share in p.outside]
    out |= {"flops": plain(p.graph.flops), "bytes": plain(p.graph.bytes), "params": plain(p.graph.params)}
    parts = ("weights", "kv_cache", "activations", "workspace", "total", "segments", "capacity", "reserved", "usable")
    out["memory"] = {name: plain(getattr(p.memory, name)) for name in parts}
    out |= {"fits": plain(p.fits), "energy_j": plain(p.energy_j), "energy_is_estimate": True, "sources": list(p.sources)}
    out["fp32"] = {"asked": p.plan.fp32, "in_tf32": list(narrowed_kinds(p.graph))}
    rows = sorted(p.ops, key=lambda row: -float(total_of(row.seconds)))[:ops]
    return out | ({"ops": [op_dict(row) for row in rows]} if ops is None or ops else {})


def record(p: Any) -> dict[str, Any]:
    """A flat record, without lists and objects: the two ends of an interval are columns of their own."""
    out = {"workload": p.graph.name, "dtype": p.graph.dtype, "hardware": p.hardware.slug, "mode": p.plan.mode, "figures": p.label}
    names = (
        "seconds",
        "data_s",
        "compute_s",
        "overhead_s",
        "busy_s",
        "host_s",
        "bound",
        "utilization",
        "mfu",
        "kernels",
        "fits",
        "energy_j",
    )
    out |= {name: plain(getattr(p, name)) for name in names} | limits(p.interval)
    return out | {"memory_bytes": plain(p.memory.total), "flops": plain(p.graph.flops), "bytes": plain(p.graph.bytes)}


def records(p: Any) -> list[dict[str, Any]]:
    """The same of each operator, in running order."""
    about = {"hardware": p.hardware.slug, "mode": p.plan.mode}
    return [
        {**about, **{name: value for name, value in op_dict(row).items() if name != "interval"}, **limits(row.interval)} for row in p.ops
    ]


def limits(interval: Interval | None) -> dict[str, Any]:
    """`low_s` and `high_s`; None where there is no interval, or its end is open."""
    return dict(zip(("low_s", "high_s"), ends(interval) or (None, None), strict=True))


def host_dict(p: Any) -> PredictionHost:
    """Who launches. `launch_s`: of an element-wise op, or of every op where it was given."""
    host, given = p.host, p.plan.launch is not None
    return {
        "slug": host.slug or None, "name": host.name, "estimate": host.estimate,
        "launch_s": plain(p.plan.launch) if given else host.default, "launch_is_given": given, "entry_s": host.entry,
        "graph_start_s": plain(p.plan.launch) if given else host.graph_start, "source": host.source or None, "date": host.date or None,
        "caveats": list(host.caveats),
    }  # fmt: skip


def op_dict(row: Any) -> dict[str, Any]:
    """An operator's row as a dictionary for JSON."""
    names = ("name", "seconds", "data_s", "compute_s", "floor_s", "launch_s", "kernels", "term", "regime")
    out = {name: plain(getattr(row, name)) for name in names}
    out |= {"interval": ends(row.interval), "measured": row.place if row.cost.doubt else None}
    out["kind"] = " + ".join(part.kind for part in row.op.attrs.get("parts", (row.op,)))
    return out | {"flops": plain(row.work.flops), "bytes": plain(row.work.bytes)}


def total_of(value: Number) -> float:
    """A float as it is, the sum over a sweep's points."""
    return value if isinstance(value, SCALARS) else float(points(value).sum())


def plain(value: Any) -> Any:
    """A number, or a list of them where a size is swept."""
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    value = points(value)
    return value.tolist() if hasattr(value, "tolist") else value


def ends(interval: Interval | None) -> list[Any] | None:
    """An interval as JSON takes it: an open end is None."""
    return None if interval is None else [None if isinstance(end, float) and math.isinf(end) else plain(end) for end in interval]


def span(interval: Interval) -> str:
    """`1.1 ms – 1.3 ms`; `over 1.1 ms` where the upper end is open."""
    low, high = (float(end) for end in interval)
    return f"over {show(low, 's')}" if math.isinf(high) else f"{show(low, 's')} – {show(high, 's')}"
