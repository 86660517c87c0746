"""This machine: what `ironlaw measure` left in ironlaw's home, read like any machine of the registry.

    hardware/this_machine.toml        its figures, in the grammar of registry/hardware (`registry.machines` reads them)
    calibration/this_machine.json     the curves fitted to it
    host/this_machine.json            what launching costs its processor, where that was measured apart
    evidence/this_machine/*.json      what was measured (registry/evidence/FORMAT.md); operators.json: those of models

Another process may measure again at any time: what was read is kept only as long as the files are the same. What curves are made of is
imported when there are some: every page and command looks here, and most machines were not measured.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw import home
from ironlaw.errors import BadRegistry, IronlawError

if TYPE_CHECKING:
    from ironlaw.backends.rows import Row
    from ironlaw.calibration.machine_calibration import Calibration
    from ironlaw.engine.device.host import Host

SLUG = "this_machine"
NAMES = ("this", "here", "local", SLUG)  # what people may type
HOST_AGAIN = "ironlaw measure --host"
NOISY = ", noisy"  # in the source of figures that were measured while the machine was busy
MOST_TAKEN = 0.5  # of the processors, where the evidence does not say how much: half of them is twice the time
AGAIN = "run `ironlaw measure` to measure this machine again"
FIRST = "this machine was not measured yet; run `ironlaw measure` first (about a minute), then ask again"
FIRST_HOST = "what launching costs here was not measured yet; run `ironlaw measure --host` first (seconds), then ask again"
MACHINE, OPERATORS = "machine.json", "operators.json"  # evidence of the suite, and of models' own operators
KINDS = ("hardware", "box", "host", "price", "engine", "stack")  # of which a user may have files of their own (registry/own_files.py)
Stamp = tuple[tuple[str, int, int, int], ...]


def figures() -> Path:
    return home.folder() / "hardware" / f"{SLUG}.toml"


def own_files(kind: str) -> list[Path]:
    """A user's own files of a kind beside this machine's; empty where no home is known."""
    try:
        return sorted(path for path in (home.folder() / kind).glob("*.toml") if path.stem not in NAMES)
    except (OSError, IronlawError):
        return []


def curves(slug: str = SLUG) -> Path:
    return home.folder() / "calibration" / f"{slug}.json"


def launcher() -> Path:
    return home.folder() / "host" / f"{SLUG}.json"


def evidence_folder(slug: str = SLUG) -> Path:
    return home.folder() / "evidence" / slug


def noise_sd(slug: str = SLUG) -> float:
    """What a busy machine adds to the sd of the logarithm of every time, by the noise that its evidence keeps: work that gets a share
    s less of the processors takes up to 1 / (1 - s) times as long, and the reference's own drift comes on top."""
    try:
        noise = _evidence(MACHINE, slug)["noise"]
        taken, drift = (float(noise.get("others", 0.0)) + float(noise.get("stolen", 0.0)), float(noise.get("drift", 0.0)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        taken, drift = MOST_TAKEN, 0.0  # all that is known is that it was busy
    return math.hypot(math.log(1.0 - min(max(taken, 0.0), MOST_TAKEN)), math.log1p(max(drift, 0.0)))


def noisy(own: Calibration, sd: float) -> Calibration:
    """The same calibration with wider intervals: of models in every mode, and of launches."""
    from ironlaw.engine.device.intervals import HOST
    from ironlaw.engine.device.uncertainty import SURE

    models = {mode: one for mode, one in own.scatter.items() if mode != HOST} or {"eager": SURE}
    known = {**models, HOST: own.scatter.get(HOST, SURE)}
    return replace(own, scatter={mode: one._replace(sd=math.hypot(one.sd, sd)) for mode, one in known.items()})


def stamp(*paths: Path) -> Stamp:
    """Changes whenever one of the files does; a file that is not there is left out."""
    states = []
    for path in paths:
        with suppress(OSError):
            at = path.stat()
            states.append((str(path), at.st_mtime_ns, at.st_size, at.st_ino))
    return tuple(states)


def state() -> Stamp:
    """The stamp of all that `hardware` reads, the user's own files included: for callers that keep what they built from it."""
    try:
        return stamp(figures(), curves(), launcher(), evidence_folder() / OPERATORS, *(path for kind in KINDS for path in own_files(kind)))
    except IronlawError:  # no home is known
        return ()


def calibration(slug: str = SLUG) -> Calibration | None:
    """The curves of this machine, or of one that was added; None where none could be fitted."""
    path = curves(slug)
    return _calibration(path, stamp(path)) if path.exists() else None


@lru_cache(maxsize=4)
def _calibration(path: Path, _: Stamp) -> Calibration:
    from ironlaw.calibration.machine_calibration import Calibration

    try:
        return Calibration.from_json(json.loads(path.read_bytes()))
    except OSError as error:
        raise BadRegistry(f"{path} can't be read ({error.strerror or error}); check its permissions, or {AGAIN}") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise BadRegistry(f"{path} is damaged, or another version of ironlaw wrote it ({why}); {AGAIN}") from None


def host() -> Host | None:
    """What launching costs here: measured apart, or with this machine's GPU; None where neither was."""
    path = launcher()
    if path.exists():
        return _host(path, stamp(path))
    fitted = calibration()
    queued = fitted is not None and fitted.library.dispatch == "queued"
    return replace(fitted.host, slug=SLUG, name=fitted.host.name or "this machine's processor") if fitted and queued else None


@lru_cache(maxsize=4)
def _host(path: Path, _: Stamp) -> Host:
    from ironlaw.calibration import stored_curves

    try:
        return stored_curves.host(json.loads(path.read_bytes()))
    except OSError as error:
        raise BadRegistry(
            f"{path} can't be read ({error.strerror or error}); check its permissions, or measure again: {HOST_AGAIN}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise BadRegistry(f"{path} is damaged, or another version of ironlaw wrote it ({why}); measure again: {HOST_AGAIN}") from None


def op_rows(slug: str = SLUG) -> tuple[Row, ...]:
    """Single operators that were timed on this machine's device, the suite's and those of models; none where the evidence can't be read."""
    return (*_op_rows(MACHINE, slug), *model_rows(slug))


def model_rows(slug: str = SLUG) -> tuple[Row, ...]:
    """Operators of models that were timed here (`ironlaw measure --for`), on the device that is `this` now."""
    return _op_rows(OPERATORS, slug) if _device_of(OPERATORS, slug) == _device_of(MACHINE, slug) else ()


def _op_rows(name: str, slug: str) -> tuple[Row, ...]:
    from ironlaw.backends.rows import Row

    try:
        rows = [Row.from_json(row) for row in _evidence(name, slug)["rows"]]
    except (OSError, ValueError, LookupError, TypeError, IronlawError):
        return ()
    return tuple(row for row in rows if row.kind == "op" and (row.busy_s or row.wall_s) and not row.error)


def _device_of(name: str, slug: str) -> tuple[str, str]:
    try:
        about = _evidence(name, slug)["machine"]
        return str(about["backend"]), str(about.get("gpu") or about["cpu"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, IronlawError):
        return "", ""


def _evidence(name: str, slug: str) -> Any:
    return json.loads((evidence_folder(slug) / name).read_text(encoding="utf-8"))


def store_host(measured: Host) -> Path:
    """Store what launching costs here in place of what there is."""
    from ironlaw.calibration import stored_curves

    path = home.path("host", f"{SLUG}.json")
    home.replace_text(path, json.dumps(stored_curves.host_json(measured), indent=1) + "\n")
    return path


def store_curves(fitted: Calibration | None) -> Calibration | None:
    """Store curves in place of those there are; None removes them."""
    if fitted is None:
        with suppress(FileNotFoundError):
            curves().unlink()
        return None
    home.replace_text(home.path("calibration", f"{SLUG}.json"), json.dumps(fitted.to_json(), indent=1) + "\n")
    return fitted
