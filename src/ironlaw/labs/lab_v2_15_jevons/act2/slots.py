"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.energy import embodied_share
from ironlaw.labs.lab_v2_15_jevons.act2.figures import OPTIONS
from ironlaw.labs.lab_v2_15_jevons.act2.plan import BEFORE, SERVERS, changes, premise, story_requests
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.registry.traces import trace
from ironlaw.systems.energy_fleets import TRACE
from ironlaw.units import significant

WATTS, YEARS, BUSY = 700.0, 3.0, 0.6  # of the reflection


def message() -> dict[str, object]:
    return {"rate": significant(trace(TRACE).rate), "model": f"{SERVERS[BEFORE][0].partition('B')[0]} billion parameters"}


def lock() -> dict[str, object]:
    plan = premise()
    larger, fleet = changes(premise())["batch"].fleet, plan.fleet
    return {
        "requests": significant(story_requests()),
        "joules": kit.amount(fleet.after.joules, "J"),
        "fewer": kit.amount(larger.after.joules, "J"),
        "time": kit.amount(1e3 * fleet.after.device_s, "ms"),
        "less": kit.amount(1e3 * larger.after.device_s, "ms"),
        "devices": fleet.after.devices,
        "part": kit.amount(100 * fleet.share, "%", 2),
    }


def truth(lab: kit.Lab) -> str:
    return OPTIONS[str(lab.question("act2").answer)]


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    if option is None or lab.correct("act2"):
        return "right" if option else ""
    change = 100 * (changes(premise())[str(option.value)].tonnes / premise().tonnes - 1)
    return f"off, because that changes the year's carbon by {'+' if change > 0 else '−'}{significant(abs(change), 2)}%"


def tonnes() -> dict[str, object]:
    return {key: kit.amount(plan.tonnes, "t") for key, plan in changes(premise()).items()}


def reveal() -> dict[str, object]:
    batch, wait = changes(premise())["batch"].fleet, changes(premise())["wait"].fleet
    at = premise().high
    return {
        "now": kit.amount(premise().tonnes, "t"), **tonnes(), "gain": kit.times(batch.gain), "cheaper": kit.times(1 / batch.price),
        "threshold": significant(batch.threshold, 2), "demand": kit.times(batch.demand(at) / batch.tokens),
        "grams": kit.amount(wait.intensity(at), "g/kWh"), "even": kit.amount(premise().fleet.intensity(at), "g/kWh"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    def share(grams: float) -> kit.Markup:
        return kit.amount(100 * embodied_share(1e3 * given("embodied"), WATTS, grams, YEARS, BUSY), "%")

    return {
        "water": share(given("hydro")), "burnt": share(given("coal")), "mixed": share(given("gas")), "watts": kit.amount(WATTS, "W"),
        "busy": kit.amount(100 * BUSY, "%"), "years": significant(YEARS),
    }  # fmt: skip


def peek() -> dict[str, object]:
    batch = changes(premise())["batch"].fleet
    return {
        "share": kit.amount(100 * batch.share, "%", 2), "gain": significant(batch.gain), "price": significant(batch.price),
        "threshold": significant(batch.threshold, 2), "room": significant(1 / premise().fleet.utilisation(premise().high)),
        "power": kit.amount(batch.after.power, "W"), "rate": significant(batch.after.rate), "joules": kit.amount(batch.after.joules, "J"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {
        "threshold": significant(changes(premise())["batch"].fleet.threshold, 2),
        "batch": tonnes()["batch"],
        "now": kit.amount(premise().tonnes, "t"),
    }
