"""What nvidia-smi reports of a GPU: its clocks, whether it is throttled, its power limit and its driver. Of the first one unless `which`
names another."""

from __future__ import annotations

from ironlaw.measure.software_host import output_of

CLOCKS = "clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw,power.limit,clocks_throttle_reasons.active,utilization.gpu"
THROTTLED = {
    0x1: "idle", 0x2: "clocks set by an application", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost",
    0x20: "heat (software)", 0x40: "heat (hardware)", 0x80: "power brake", 0x100: "display clocks",
}  # fmt: skip


def query(fields: str, style: str = "csv,noheader", which: str = "") -> list[str]:
    """One GPU's fields; a single empty one where nvidia-smi is missing. `which`: its number or its UUID."""
    chosen = (f"--id={which}",) if which else ()
    line = output_of("nvidia-smi", f"--query-gpu={fields}", f"--format={style}", *chosen).partition("\n")[0]
    return [cell.strip() for cell in line.split(",")]


def clock_notes(which: str = "") -> list[str]:
    cells = query(CLOCKS, which=which)
    if len(cells) != CLOCKS.count(",") + 1:
        return ["nvidia-smi reports no clocks here"]
    now, most, memory, heat, power, limit, reasons, used = cells
    return [
        f"GPU clock {now} of at most {most}, memory {memory}, {heat} °C, {power} of {limit}, in use {used}",
        f"GPU throttled: {throttled(reasons)}",
    ]


def throttled(bits: str) -> str:
    """nvidia-smi's mask of reasons, in words."""
    try:
        mask = int(bits, 16)
    except ValueError:
        return "not reported"
    return ", ".join(word for bit, word in THROTTLED.items() if mask & bit) or ("no" if not mask else f"for reasons {bits}")


def power_limit(which: str = "") -> float | None:
    """Watts."""
    try:
        return float(query("power.limit", "csv,noheader,nounits", which)[0])
    except ValueError:
        return None


def driver(which: str = "") -> str:
    return query("driver_version", which=which)[0]
