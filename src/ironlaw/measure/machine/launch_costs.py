"""What launching costs this machine's processor: seconds of work, stored as a host of its own (`ironlaw measure --host`).

With a GPU its launches are timed as they are. Without one a launch can't be, but how fast Python and PyTorch run can: what a view costs,
which launches nothing, against what it costs a host of the registry gives the factor by which that host's launches are scaled. That is
an estimate, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from statistics import median
from typing import Any

from ironlaw.backends import require
from ironlaw.backends.rows import Row
from ironlaw.engine.device.host import Host
from ironlaw.errors import BadValue, MissingExtra
from ironlaw.measure.devices.device import Device
from ironlaw.measure.evidence_file import today
from ironlaw.measure.machine import machine_sections
from ironlaw.measure.machine.characterise import busy, watched
from ironlaw.measure.machine.machine_sizes import Sizes
from ironlaw.measure.noise import Noise, Noisy, Watch, busy_words
from ironlaw.measure.progress_lines import Progress, Stop, quiet
from ironlaw.measure.rows import typed
from ironlaw.measure.software_host import SLUG, cpu_name
from ironlaw.registry.hosts import host as registered

SIZES = Sizes("host", each=0.04, longest=0.15, streams=1, ops=False)
LIKE = "xeon_vm"  # whose launches are scaled where no GPU is here
LAUNCH_NOTHING = ("view", "empty")  # calls that no kernel follows
UNSTEADY = 2.0  # times the quick tenth of samples that the slow tenth may take, in the median over ops
LONGEST = 5e-4  # seconds: a launch beyond this is another program's time, whatever was asked for


@dataclass(frozen=True)
class LaunchCosts:
    host: Host
    rows: tuple[Row, ...]
    noise: Noise
    unsteady: float  # the slow tenth of samples over the quick one, in the median over ops

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why these figures are not to be trusted; empty where they are."""
        scatter = f"the same launch took up to {self.unsteady:.1f} times as long as at its quickest (limit {UNSTEADY:g})"
        return (*self.noise.reasons, *([scatter] if self.unsteady > UNSTEADY else []))


def measure_launches(
    device: Device, progress: Progress = quiet, stop: Stop = lambda: False, watch: Callable[[], Watch] = Watch
) -> LaunchCosts:
    """Launches of every kind that the device has, once more where the first time was disturbed."""
    if device.library != "torch":
        raise MissingExtra("launches are measured with PyTorch, which is not installed here: pip install torch, then measure again")
    reference = device.reference()
    progress(0.0, "warming up")
    busy(device, reference, stop)
    best: LaunchCosts | None = None
    with device.session():
        for _ in range(2):
            part, noise = watched(machine_sections.launches, device, SIZES, progress, stop, reference, watch)
            rows = tuple(typed(part.rows))
            found = LaunchCosts(as_host(rows, device), rows, noise, _scatter(rows))
            best = found if best is None or len(found.reasons) < len(best.reasons) else best
            if not best.reasons:
                break
    assert best is not None
    progress(1.0, "done")
    return best


def as_host(rows: tuple[Row, ...], device: Device) -> Host:
    """The rows as a host: as they are, or another's scaled by them."""
    about: dict[str, Any] = {"slug": SLUG, "source": f"ironlaw measure --host, PyTorch on {device.kind.name}", "date": today()}
    name = f"{cpu_name()}, as measured here"
    method = "Tiny ops from Python, queued back to back, median of samples."
    if device.queued:
        return replace(require(device.kind.registry[0]).host(rows), name=name, method=method, **about)
    other = registered(LIKE)
    here = {row.op: row.wall_s for row in rows if row.op in LAUNCH_NOTHING and row.wall_s}
    if len(here) < len(LAUNCH_NOTHING):
        raise BadValue(
            "calls that launch nothing could not be timed here, so there is nothing to scale by; measure on a machine with a GPU"
        )
    factor = sqrt(here["view"] / other.launches["view"] * here["empty"] / other.launches["empty"])
    why = f"No GPU here: the launches of {other.name}, times {factor:.2f}, by what calls that launch nothing cost here and there."
    return replace(other.scaled(factor), name=name, method=method, estimate=True, why=why, caveats=(), **about)


def _scatter(rows: tuple[Row, ...]) -> float:
    each = [row.high_s / row.low_s for row in rows if row.low_s and row.high_s]
    return median(each) if each else 1.0


def judged(measured: LaunchCosts, force: bool) -> Host:
    """The host, to be stored. A busy machine's is refused, or marked where it was asked for all the same."""
    if measured.host.default > LONGEST:
        raise Noisy(
            f"nothing was stored: a launch took {measured.host.default * 1e3:.2g} ms, which other programs must have caused."
            " Close what else is running and measure again"
        )
    if not measured.reasons:
        return measured.host
    if not force:
        raise Noisy(
            f"nothing was stored: {'; '.join(measured.reasons)}. Close what else is running and measure again, or store it as it is with"
            " --force (every prediction with this host then says so)"
        )
    return replace(measured.host, caveats=(busy_words(measured.reasons),))
