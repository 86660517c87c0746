"""A job over a day: its work grows, is saved, and falls back to the last save whenever something fails."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ironlaw.engine.cluster.job_timeline import Stretch
from ironlaw.pictures.lifeline import BARS, CELLS, LOOK, cells
from ironlaw.units import significant
from ironlaw.widget.motion import Bar, Counter, Curve, Motion, Thing, spread
from ironlaw.widget.quantities import format_quantity

HOUR = 3600.0
TALL, LANE, ROOM = 140.0, 16.0, 8.0  # px: the curves, what the job does, between them
POINTS = 600  # of a curve
TOLD = 12  # failures
LINES = (
    {"colour": "compute", "shape": "line", "label": "work done"},
    {"colour": "memory", "shape": "line", "label": "safe in the last save"},
    {"colour": "ridge", "shape": "line", "label": "if nothing failed and nothing was saved"},
)
Point = tuple[float, float]


def failures(stretches: Sequence[Stretch]) -> list[float]:
    """Seconds at which something failed: a restart begins there, or work is lost before the end."""
    end = stretches[-1].end
    begun = [stretch.start for stretch in stretches if stretch.kind == "restart"]
    return begun or [stretch.end for stretch in stretches if stretch.kind == "lost" and stretch.end < end]


def progress(stretches: Sequence[Stretch], interval: float) -> tuple[list[Point], list[Point]]:
    """(seconds, seconds of work): what is done, saved or not, and what a save has made last."""
    done, safe = [(0.0, 0.0)], [(0.0, 0.0)]
    held, end = 0.0, stretches[-1].end
    for i, stretch in enumerate(stretches):
        if stretch.kind == "work":
            done += [(stretch.start, held), (stretch.end, held + stretch.end - stretch.start)]
            held += stretch.end - stretch.start
            saved = stretches[i + 1].end if i + 1 < len(stretches) and stretches[i + 1].kind == "save" else stretch.end
            safe += [(saved, safe[-1][1]), (saved, held)]
        elif stretch.kind == "lost":
            rise = min(stretch.end - stretch.start, interval)
            done += [(stretch.start, held), (stretch.start + rise, held + rise), (stretch.end, held + rise)]
            if stretch.end < end:
                done.append((stretch.end, held))
    return [*done, (end, done[-1][1])], [*safe, (end, held)]


def sawtooth(stretches: Sequence[Stretch], interval: float, id: str = "sawtooth", note: str = "") -> Motion:
    end = stretches[-1].end
    done, safe = progress(stretches, interval)
    failed = failures(stretches)
    useful = safe[-1][1]
    title = f"{_failures(len(failed))} {'leaves' if len(failed) == 1 else 'leave'} {_hours(useful)} of work in {_hours(end)}"
    drawn = list(stretches) if len(stretches) <= BARS else list(cells(stretches, end / CELLS / 4))
    kinds = {stretch.kind for stretch in drawn}
    looks = [{"colour": colour, "pattern": pattern, "label": name} for kind, (name, colour, pattern) in LOOK.items() if kind in kinds]
    return Motion(
        id, title if failed else f"No failure today: {_hours(useful)} of work from {_hours(end)}", end / HOUR, TALL + ROOM + LANE + 2,
        tuple(_things(drawn, done, safe, failed, end)), tuple(_events(stretches, failed, end, useful)),
        f"{title}.", unit="h", seconds=12.0, legend=(*LINES, *looks), note=note,
    )  # fmt: skip


def _failures(count: int) -> str:
    return "1 failure" if count == 1 else f"{count} failures"


def _hours(seconds: float) -> str:
    return f"{significant(seconds / HOUR)}\u202fh"


def _thin(points: Sequence[Point]) -> list[Point]:
    """The points that can be told apart; every drop stays."""
    if len(points) <= POINTS:
        return list(points)
    each = len(points) / POINTS
    kept = {round(i * each) for i in range(POINTS)} | {0, len(points) - 1}
    kept |= {i + k for i in range(len(points) - 1) if points[i + 1][1] < points[i][1] for k in (0, 1)}
    return [points[i] for i in sorted(kept) if i < len(points)]


def _things(drawn: Sequence[Stretch], done: Sequence[Point], safe: Sequence[Point], failed: Sequence[float], end: float) -> Iterator[Thing]:
    def placed(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple((min(t, end) / HOUR, TALL * (1 - work / end)) for t, work in _thin(points))

    yield Curve(((0.0, TALL), (end / HOUR, 0.0)), "ridge")
    yield Curve(placed(safe), "memory", area=TALL)
    yield Curve(placed(done), "compute")
    for stretch in drawn:
        _, colour, pattern = LOOK[stretch.kind]
        yield Bar(stretch.start / HOUR, stretch.end / HOUR, TALL + ROOM, LANE, colour, pattern=pattern)
    yield Counter("failures", ((0.0, 0.0), *((at / HOUR, i + 1.0) for i, at in enumerate(failed))), steps=True, colour="fail")
    yield Counter("safe", tuple((t / HOUR, work / HOUR) for t, work in _thin(safe)), "h", colour="memory")
    yield Counter("wasted so far", ((0.0, 100.0), *_wasted(safe, end)), "%", colour="overhead")


def _wasted(safe: Sequence[Point], end: float) -> Iterator[Point]:
    """(hours, percent of the time so far that is not in a save)."""
    times = [t for t, _ in safe]
    for at in spread(end, 96):
        yield at / HOUR, 100 * (1 - safe[bisect_right(times, at) - 1][1] / at)


def _events(stretches: Sequence[Stretch], failed: Sequence[float], end: float, useful: float) -> list[tuple[float, str]]:
    told = [(0.0, "The job begins.")]
    first = next((stretch for stretch in stretches if stretch.kind == "save"), None)
    if first is not None:
        told.append((first.end / HOUR, f"The first save is complete. It took {format_quantity(first.end - first.start, 's')}."))
    lost = {stretch.end: stretch.end - stretch.start for stretch in stretches if stretch.kind == "lost"}
    for i, at in enumerate(failed[:TOLD]):
        gone = (
            f"{format_quantity(lost[at], 's')} since the last save is lost." if at in lost else "Nothing is lost that was not lost already."
        )
        told.append((at / HOUR, f"Failure {i + 1}. {gone}"))
    told += [(at / HOUR, f"{_failures(sum(t <= at for t in failed))} so far.") for at in spread(end)[:-1]]
    told.append((end / HOUR, f"The day is over. {_hours(useful)} of it is work that lasts."))
    return sorted(told, key=lambda event: event[0])
