"""Evidence -> registry/calibration/*.json.

    python scripts/calibrate.py h200_sxm          fit again and store
    python scripts/fit_intervals.py h200_sxm      keep the curves, and fit only how sure predictions are

A test fits again and holds the stored files to the evidence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from ironlaw.backends.rows import Row
from ironlaw.calibration.fit import calibrate
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.scatter import ENOUGH, Outcome, by_mode, common_part, scatter, spread
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.intervals import HOST
from ironlaw.engine.device.machine import MODES, Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadRegistry
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.evidence import evidence
from ironlaw.registry.hosts import measured_with
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.systems.accuracy.held_out import WAITING, Run, outcomes_of, stored_unseen, with_first, write_unseen

TRAINING = "training"
BETWEEN_OTHERS = 250e-9  # seconds that a kernel takes longer in a model than repeated: `among` by rows of sweeps alone, on the H200


def refit(slug: str, models: Iterable[tuple[Row, Graph]] | None = None, runs: Iterable[Run] = ()) -> tuple[Calibration, list[Outcome]]:
    """Fit a machine's curves to its op and launch rows (some seconds), then see how whole models scatter around them.

    `models`: measured rows and their graphs; the registry's own where none are given. `runs`: of models that nobody had looked at.
    """
    files = [file for file in evidence(slug) if any(row.kind in ("op", "launch") or is_narrow(row) for row in file.rows)]
    if not files:
        raise BadRegistry(f"no op or launch rows for {slug}; put evidence into registry/evidence/{slug}/ first (see FORMAT.md there)")
    rows = [freed(as_product(row)) for file in files for row in file.rows]
    described = next((file.machine for file in reversed(files) if "host" in file.machine), files[-1].machine)
    fitted = calibrate(rows, described, hardware(slug), tuple(file.source for file in files))
    judges = list(registry_models(slug) if models is None else models)
    fitted = replace(fitted, among=among(replace(hardware(slug), calibration=fitted), judges))
    machine = replace(hardware(slug), calibration=fitted)
    seen = list(outcomes(machine, judges))
    unseen = with_first(outcomes_of(machine, runs), stored_unseen(slug), datetime.now(UTC).date().isoformat())
    each_kernel = compile_kernel_s(row for file in evidence(slug) for row in file.rows)
    return replace(judged(fitted, [*seen, *unseen]), compile_kernel_s=each_kernel), [*seen, *unseen]


def is_narrow(row: Row) -> bool:
    """A product in FP8 as a layer runs it, few rows or many, whatever it was measured for."""
    return row.kind == "function" and row.name == "product_forms" and row.mode == "fp8" and row.busy_s is not None


def as_product(row: Row) -> Row:
    """Such a row as one of single products: its own kernel, without the one that fills in a scale."""
    if not is_narrow(row):
        return row
    sizes = {name: row.params[name] for name in ("m", "n", "k")}
    busy = sum(kernel.seconds for kernel in row.kernel_times if "FillFunctor" not in kernel.name)
    return Row(kind="op", op="matmul", params={**sizes, "dtype": "fp8"}, busy_s=busy, kernels=1)


def freed(row: Row) -> Row:
    """A row of an op within a model, without what its kernels took longer there than repeated: `among` adds that to every kernel."""
    if row.op != "captured" or not row.busy_s:
        return row
    alone = max(row.busy_s - BETWEEN_OTHERS * (row.kernels or 1.0), row.busy_s / 2.0) / row.busy_s
    times = tuple(replace(kernel, seconds=alone * kernel.seconds) for kernel in row.kernel_times)
    return replace(row, busy_s=alone * row.busy_s, kernel_times=times)


def among(machine: Hardware, models: Iterable[tuple[Row, Graph]]) -> float:
    """Seconds that a kernel takes longer between others than repeated, which single ops can't show: the median over eager models of what
    is missing for each kernel. 0 where the library has no kernels to count, or too few models were run."""
    missing = []
    for row, graph in models:
        if row.mode == "eager" and row.busy_s and row.kernels:
            missing.append((row.busy_s - float(predict(graph, machine).busy_s)) / row.kernels)
    return float(f"{max(median(missing), 0.0):.3g}") if len(missing) >= ENOUGH else 0.0


def judged(fitted: Calibration, outcomes: Sequence[Outcome]) -> Calibration:
    """The calibration with what whole models say of its errors: those that were run unseen, where there are enough of a mode."""
    device = [o for o in outcomes if o.mode != HOST]
    common = round(common_part([o for o in device if not o.first]), 3)
    scatters = {mode: scatter(judges, common) for mode, mine in by_mode(device).items() if (judges := _judges_of(mine))}
    launches = _judges_of([o for o in outcomes if o.mode == HOST and not o.first])
    return replace(fitted, common=common, scatter=scatters | ({HOST: spread(launches)} if launches else {}))


def _judges_of(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes that were run unseen; all outcomes if those are too few; none if all were."""
    for judges in ([o for o in outcomes if o.run], list(outcomes)):
        if sum(not o.first for o in judges) >= ENOUGH:
            return judges
    return []


def compile_kernel_s(rows: Iterable[Row]) -> float:
    """Seconds of a first compiled call for each kernel: the median over models. 0 where too few were compiled."""
    each = [row.compile_s / row.kernels for row in rows if row.kind == "model" and row.mode == "compiled" and row.compile_s and row.kernels]
    return float(f"{median(each):.3g}") if len(each) >= ENOUGH else 0.0


def outcomes(machine: Hardware, models: Iterable[tuple[Row, Graph]]) -> Iterator[Outcome]:
    """How each model came out: its device time by mode, and, where the device mostly waits, the host's time."""
    timed = machine.calibration.library.row_time if isinstance(machine.calibration, Calibration) else ""
    for row, graph in models:
        measured = getattr(row, timed)
        if measured is None or row.mode not in (*MODES, TRAINING):
            continue
        p = predict(graph, machine, Plan(mode="eager" if row.mode == TRAINING else row.mode))
        assert p.intervals is not None
        name = row.workload or row.model
        predicted = p.seconds if timed == "wall_s" else p.busy_s
        apart, together = p.intervals.sds
        yield Outcome(name, row.mode, math.log(measured / predicted), float(apart), float(together))
        if row.piped_s and p.utilization < WAITING and row.mode != "graphs":
            yield Outcome(name, HOST, math.log(row.piped_s / p.seconds))


def registry_models(slug: str) -> Iterator[tuple[Row, Graph]]:
    """The rows of evidence on the registry's models, as the registry builds them."""
    for row in (row for file in evidence(slug) for row in file.rows if _judges(row)):
        yield row, workload(row.workload, **row.params)


def _judges(row: Row) -> bool:
    return row.kind == "model" and bool(row.workload) and not row.variant and "attention" not in row.params


def write(slug: str, models: Iterable[tuple[Row, Graph]] | None = None, runs: Iterable[Run] = ()) -> Path:
    """Fit, and store the curves and how each model came out."""
    fitted, outcomes = refit(slug, models, runs)
    write_outcomes(slug, [o for o in outcomes if not o.run])
    if any(o.run for o in outcomes):
        write_unseen(slug, [o for o in outcomes if o.run])
    return write_calibration(slug, fitted)


def rejudge(slug: str, runs: Iterable[Run]) -> tuple[Calibration, list[Outcome]]:
    """The stored curves judged by unseen models as they come out now: nothing but how sure predictions are changes."""
    fitted = calibration(slug)
    if fitted is None:
        raise BadRegistry(f"no curves for {slug}; fit them first: python scripts/calibrate.py {slug}")
    unseen = with_first(outcomes_of(hardware(slug), runs), stored_unseen(slug), datetime.now(UTC).date().isoformat())
    return judged(fitted, [*stored_outcomes(slug), *unseen]), unseen


def write_calibration(slug: str, fitted: Calibration) -> Path:
    """registry/calibration/SLUG.json, and the host's own file."""
    path = folder("calibration") / f"{slug}.json"
    path.parent.mkdir(exist_ok=True)
    data = fitted.to_json()
    apart = measured_with(slug)
    if apart:  # what belongs to the host is not the device's
        del data["host"]
        write_host(folder("host") / f"{apart.slug}.toml", fitted.host)
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


def write_host(path: Path, host: Host) -> None:
    """A host's figures in place of those in its file; the words above them stay."""
    words = path.read_text().partition("\nentry = ")[0]
    figures = f"entry = {host.entry!r}\ngraph_start = {host.graph_start!r}\n\n[launches]\n"
    path.write_text(words + "\n" + figures + "".join(f"{kind} = {seconds!r}\n" for kind, seconds in host.launches.items()))


def write_outcomes(slug: str, seen: Iterable[Outcome]) -> None:
    kept = ("model", "mode", "error", "apart", "together")
    lines = [json.dumps({name: _short(getattr(one, name)) for name in kept}) for one in sorted(seen, key=astuple)]
    path = folder("outcomes") / f"{slug}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def stored_outcomes(slug: str) -> list[Outcome]:
    """How each model came out when the curves were fitted last: what the machine's `scatter` follows from."""
    return [Outcome(**one) for one in json.loads((folder("outcomes") / f"{slug}.json").read_text())]


def _short(value: str | float) -> str | float:
    return round(value, 5) if isinstance(value, float) else value
