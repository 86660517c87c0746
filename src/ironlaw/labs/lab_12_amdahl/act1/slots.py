"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

import math

from ironlaw import kit
from ironlaw.claims.shorthand import row
from ironlaw.engine.scaling.amdahl import amdahl_ceiling, gustafson, scaled_share
from ironlaw.engine.scaling.stages import in_turn, pipelined
from ironlaw.labs.lab_12_amdahl.passes import DEVICE, FILES, GPU, HOST, Pass, measured

MANY = 1000.0
STEADY = 32  # a batch whose pass launches as much, timed when the host was quicker
LOADER, WORKING, FASTER = 8.0, 10.0, 5.0  # milliseconds a batch, and the factor: the reflection's own case


def asked() -> Pass:
    return measured(GPU)["resnet50_1"]


def message() -> dict[str, object]:
    return {"wall": kit.amount(asked().seconds, "s"), "busy": kit.amount(asked().share(DEVICE) * asked().seconds, "s")}


def lock(lab: kit.Lab) -> dict[str, object]:
    eager = row(FILES[GPU], workload="resnet50", batch=1, mode="eager")
    return {**message(), "kernels": f"{eager.value('kernels'):.0f}"}


def truth(lab: kit.Lab) -> str:
    return str(kit.times(float(lab.question("act1").answer)))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal() -> dict[str, object]:
    case, large = asked(), measured(GPU)["resnet50_128"]
    replay = row(FILES[GPU], workload="resnet50", batch=1, mode="graphs").value("wall_s")
    compiled = row(FILES[GPU], workload="resnet50", batch=1, mode="compiled")
    busy, steady = case.share(DEVICE) * case.seconds, row(FILES[GPU], workload="resnet50", batch=STEADY, mode="eager").value("wall_s")
    return {
        "busy": kit.amount(case.share(DEVICE) * case.seconds, "s"), "wall": kit.amount(case.seconds, "s"),
        "share": kit.amount(100 * case.share(DEVICE), "%"), "rest": kit.amount(case.share(HOST) * case.seconds, "s"),
        "most": kit.times(case.speedup(DEVICE, math.inf)), "other": kit.times(case.speedup(HOST, math.inf)),
        "replay": kit.amount(replay, "s"), "replayed": kit.times(case.seconds / replay),
        "kernels": f"{row(FILES[GPU], workload='resnet50', batch=1, mode='eager').value('kernels'):.0f}",
        "fewer": f"{compiled.value('kernels'):.0f}", "compiled_busy": kit.amount(compiled.value("busy_s"), "s"),
        "large_share": kit.amount(100 * large.share(DEVICE), "%"), "large_most": kit.times(large.speedup(DEVICE, math.inf)),
        "large_queued": kit.times(large.speedup(DEVICE, math.inf, overlap=True)),
        "factor": kit.times(MANY),
        "thousand": kit.amount(100 * (case.speedup(DEVICE, MANY) - 1) / (case.speedup(DEVICE, math.inf) - 1), "%"),
        "steady_batch": STEADY, "steady_wall": kit.amount(steady, "s"), "steady_share": kit.amount(100 * busy / steady, "%", 2),
        "steady_most": kit.times(amdahl_ceiling(busy / steady)),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    times, factors = (LOADER, WORKING), (1.0, FASTER)
    return {
        "loader": kit.amount(LOADER / 1e3, "s"), "gpu": kit.amount(WORKING / 1e3, "s"), "faster": kit.amount(WORKING / FASTER / 1e3, "s"),
        "factor": kit.times(FASTER), "sum": kit.times(in_turn(times, factors)), "pace": kit.times(pipelined(times, factors)),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = asked()
    share, workers = case.share(DEVICE), 64.0
    serial = 1.0 - share
    other = float(scaled_share(serial, workers))
    return {
        "share": kit.amount(100 * share, "%"), "most": kit.times(amdahl_ceiling(share)), "turned": kit.times(1.0 / share),
        "ten": kit.times(case.speedup(DEVICE, 10.0), 4), "left": kit.amount(100 * case.gain_of_one_percent(DEVICE, 10.0), "%"),
        "workers": f"{workers:.0f}", "serial": kit.amount(100 * serial, "%"), "scaled": kit.amount(100 * other, "%", 4),
        "same": kit.times(gustafson(other, workers), 4), "mixed": kit.times(gustafson(serial, workers), 4),
    }  # fmt: skip
