"""This machine: what `ironlaw measure` left in ironlaw's home, read like any machine of the registry.

    hardware/this_machine.toml        its figures, in the grammar of registry/hardware
    calibration/this_machine.json     the curves fitted to it
    evidence/this_machine/*.json      what was measured (registry/evidence/FORMAT.md)

Another process may measure again at any time: what was read is kept only as long as the files are the same.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw import home
from ironlaw.errors import BadRegistry, IronlawError, UnknownName
from ironlaw.registry.loader import normal

if TYPE_CHECKING:
    from ironlaw.engine.calibrate import Calibration
    from ironlaw.engine.types import Hardware

SLUG = "this_machine"
NAMES = ("this", "here", "local", SLUG)  # what people may type
AGAIN = "run `ironlaw measure` to measure this machine again"
FIRST = "this machine was not measured yet; run `ironlaw measure` first (about a minute), then ask again"
Stamp = tuple[tuple[str, int, int, int], ...]
# ops of which some must have been measured before curves are worth having: with none for convolutions, say, the nearest curve
# would stand in for them, and be called calibrated
NEEDED = (("linear", "matmul"), ("conv2d",), ("layer_norm", "softmax", "batch_norm"), ("add", "mul", "relu"))


def is_this(name: str) -> bool:
    return normal(name) in NAMES


def figures() -> Path:
    return home.folder() / "hardware" / f"{SLUG}.toml"


def curves() -> Path:
    return home.folder() / "calibration" / f"{SLUG}.json"


def evidence_folder() -> Path:
    return home.folder() / "evidence" / SLUG


def stamp(*paths: Path) -> Stamp:
    """Changes whenever one of the files does; a file that is not there is left out."""
    found = []
    for path in paths:
        with suppress(OSError):
            state = path.stat()
            found.append((str(path), state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)


def state() -> Stamp:
    """The stamp of all that `hardware` reads: for whoever keeps what was made from it."""
    try:
        return stamp(figures(), curves())
    except IronlawError:  # no home is known
        return ()


def hardware() -> Hardware:
    """This machine. Not measured yet, or a file that can't be read: an error with the next step."""
    if not figures().exists():
        raise UnknownName(FIRST)
    return _hardware(figures(), state())


def known() -> Hardware | None:
    """This machine, or None where it was not measured or its file can't be read: for what must open all the same."""
    try:
        return hardware()
    except IronlawError:
        return None


@lru_cache(maxsize=4)
def _hardware(path: Path, _: Stamp) -> Hardware:
    from ironlaw.registry.machines import load

    try:
        return replace(load(path), aliases=NAMES[:-1], calibration=calibration())
    except OSError as error:
        raise BadRegistry(f"{path} can't be read ({error.strerror or error}); check its permissions, or {AGAIN}") from None
    except BadRegistry as error:
        raise BadRegistry(str(error) if AGAIN in str(error) else f"{path} can't be used: {error}; or {AGAIN}") from None


def calibration() -> Calibration | None:
    """The curves of this machine; None where none could be fitted."""
    path = curves()
    return _calibration(path, stamp(path)) if path.exists() else None


@lru_cache(maxsize=4)
def _calibration(path: Path, _: Stamp) -> Calibration:
    from ironlaw.engine.calibrate import Calibration

    try:
        return Calibration.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadRegistry(f"{path} can't be read ({error.strerror or error}); check its permissions, or {AGAIN}") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        why = f"{type(error).__name__}: {error}"
        raise BadRegistry(f"{path} is damaged, or another version of ironlaw wrote it ({why}); {AGAIN}") from None


def store_fit(rows: list[dict[str, Any]], machine: dict[str, Any], sources: tuple[str, ...]) -> Calibration | None:
    """Fit curves to what was just measured and store them; None where the rows don't suffice, and then none are stored.

    Curves of an earlier measurement go either way: they are not this one's.
    """
    return store_curves(fit(rows, machine, sources))


def store_curves(fitted: Calibration | None) -> Calibration | None:
    """Store curves in place of those there are; None takes them away."""
    if fitted is None:
        with suppress(FileNotFoundError):
            curves().unlink()
        return None
    home.replace_text(home.path("calibration", f"{SLUG}.json"), json.dumps(fitted.to_json(), indent=1) + "\n")
    return fitted


def fit(rows: list[dict[str, Any]], machine: dict[str, Any], sources: tuple[str, ...]) -> Calibration | None:
    """Curves, if there are rows of every needed kind and a small model can be predicted from them."""
    from ironlaw.engine.fit import calibrate

    usable = [row for row in rows if "error" not in row]
    ops = {row.get("op") for row in usable if row["kind"] == "op"}
    if not all(ops.intersection(names) for names in NEEDED):
        return None
    try:
        fitted = calibrate(usable, machine, sources)
    except (ValueError, KeyError, TypeError, ZeroDivisionError):  # no launch row, no cache size, nothing to take a median of
        return None
    return fitted if _predicts(fitted, "gpu" if machine.get("gpu") else "cpu") else None


def _predicts(fitted: Calibration, kind: str) -> bool:
    from ironlaw.engine.predict import predict
    from ironlaw.registry.machines import registered
    from ironlaw.registry.workloads import workload

    stand_in = replace(registered("h200_sxm" if kind == "gpu" else "neoverse_n1_2core"), calibration=fitted)
    try:
        return bool(0 < predict(workload("mlp8_1024", dtype="fp32"), stand_in).seconds < float("inf"))
    except (IronlawError, KeyError, ZeroDivisionError):
        return False
