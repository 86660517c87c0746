"""Store a characterisation as this machine: evidence, curves, figures. Whole files, and all three or none."""

from __future__ import annotations

import json
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw import home
from ironlaw.backends.rows import Row
from ironlaw.calibration import local_machine
from ironlaw.calibration.local_fit import fit
from ironlaw.calibration.local_machine import NOISY, store_curves
from ironlaw.errors import BadValue
from ironlaw.measure.devices.device import Device
from ironlaw.measure.evidence_file import text, today, write
from ironlaw.measure.machine import datasheet
from ironlaw.measure.machine.characterise import Characterisation
from ironlaw.measure.machine.datasheet import Figures
from ironlaw.measure.noise import Noise, Noisy, busy_words
from ironlaw.measure.software_host import SLUG, software

if TYPE_CHECKING:
    from ironlaw.engine.device.machine import Hardware

ASIDE = "noisy_measurement.json"  # in ironlaw's home: what was measured last while the machine was busy


@dataclass(frozen=True)
class Kept:
    """Where it lies now, and whether curves could be fitted."""

    evidence: Path
    figures: Path
    curves: tuple[str, ...]  # names of the fitted curves; empty where the rows did not suffice
    datasheet: str = ""  # the machine of the registry that it is


def read_figures(result: Characterisation, device: Device) -> Figures:
    return datasheet.figures(result.rows, result.machine, device.caches(), device.grain)


def source(result: Characterisation) -> str:
    torch = result.software.get("torch")
    library = (
        f"PyTorch {torch}" if torch and result.machine.get("library") == "torch" else f"NumPy {result.software.get('numpy', '')}".strip()
    )
    return f"ironlaw measure, {SLUG}/machine.json ({result.machine['backend']}, {library}{NOISY if result.noise.noisy else ''})"


def as_toml(result: Characterisation, figures: Figures, power: float | None, date: str = "") -> str:
    """The machine's file, read once as any other machine's would be: what is stored is valid. `power`: its limit in watts, if known."""
    written = datasheet.toml(figures, result.machine, source(result), date or today(), power, registered_as(result))
    checked(written)
    return written


def registered_as(result: Characterisation) -> str:
    """The machine of the registry that it is, by the name its driver reports; empty where none is."""
    from ironlaw.registry.machines import reported

    return reported().get(str(result.machine.get("gpu", "")), "")


def checked(written: str) -> Hardware:
    from ironlaw.registry.machine_files import load

    with tempfile.TemporaryDirectory() as folder:
        return load(home.replace_text(Path(folder) / f"{SLUG}.toml", written))


def as_evidence(result: Characterisation, date: str = "") -> str:
    noise = result.noise.as_json() | {"repeated": result.repeated}
    machine = result.machine | {"notes": result.notes}
    return text(machine=machine, software=result.software, method=result.method, rows=result.rows, date=date, noise=noise)


def refuse_if_noisy(result: Characterisation, force: bool, beside: Path | None = None) -> None:
    """A noisy machine's figures are kept only on request; what was measured is set aside, in `beside` or in ironlaw's home."""
    if not result.noise.noisy or force:
        return
    aside = home.replace_text(beside or home.path(ASIDE), as_evidence(result))
    twice = f", and measuring {' and '.join(result.repeated)} twice did not help" if result.repeated else ""
    raise Noisy(
        f"set aside, not stored: {'; '.join(result.noise.reasons)}{twice}. The {len(result.rows):,} rows are in {aside}. Close what else is"
        f" running and measure again, or take them as they are, marked as noisy and with wider intervals: ironlaw measure --keep {aside}"
    )


def set_aside(place: Path, device: Device) -> tuple[Characterisation, str]:
    """A measurement of this device from its file, and its date."""
    from ironlaw.registry import evidence  # which measuring does without

    found, data = evidence.read(place), json.loads(place.read_text(encoding="utf-8"))
    here, there = device.machine(), found.machine
    if any(here.get(name) != there.get(name) for name in ("backend", "gpu", "cpu")):
        raise BadValue(
            f"{place} was measured on {there.get('gpu') or there.get('cpu')}, and this is {here.get('gpu') or here.get('cpu')}; --keep"
            " stores a measurement of the machine that it runs on"
        )
    noise = data.get("noise", {})
    heard = Noise(noise.get("others"), noise.get("stolen"), noise.get("drift", 0.0))
    machine = {name: value for name, value in there.items() if name != "notes"}
    notes, repeated = list(there.get("notes", [])), list(noise.get("repeated", []))
    return Characterisation(machine, found.software, found.method, list(found.rows), notes, heard, repeated), found.date


def keep(result: Characterisation, figures: Figures, device: Device, force: bool = False, date: str = "") -> Kept:
    """Store it as this machine."""
    refuse_if_noisy(result, force)
    written, evidence = as_toml(result, figures, device.power_limit(), date), as_evidence(result, date)
    fitted = fit(result.rows, result.machine, checked(written), (source(result),))
    if fitted and result.noise.noisy:
        fitted = replace(fitted, host=replace(fitted.host, caveats=(busy_words(result.noise.reasons),)))
    with uninterrupted():
        place = home.replace_text(home.path("evidence", SLUG, "machine.json"), evidence)
        store_curves(fitted)
        final = home.replace_text(home.path("hardware", f"{SLUG}.toml"), written)
    return Kept(place, final, tuple(sorted(fitted.curves)) if fitted else (), registered_as(result))


def keep_operators(rows: Sequence[Row], device: Device, method: str) -> Path:
    """Add operators of a model to those of this machine. What was timed again replaces what there was."""
    fresh = {json.dumps(row.params, sort_keys=True) for row in rows}
    kept = [row for row in local_machine.model_rows() if json.dumps(row.params, sort_keys=True) not in fresh]
    about = device.machine() | {"library": device.library, "threads": device.threads()}
    with uninterrupted():
        place = home.path("evidence", SLUG, local_machine.OPERATORS)
        return write(place, machine=about, software=software(), method=method, rows=[*kept, *rows])


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Three files of one measurement belong together: a Ctrl-C in these milliseconds is heard after the last."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt
