"""Published serving runs beside the simulation of the same requests: as it is, and with what an engine adds to each step by the first run.

PYTHONPATH=src python3 benchmarks/serving_runs.py
"""

from statistics import median

from ironlaw.systems.serving.serving_runs import MEASURES, Replay, replays

GROUPS = {"few clients": "8b-", "floods": ("14b-", "32b-"), "a batch of 8": "ci-"}


def show(runs: list[Replay], skip: str = "") -> None:
    for name, begin in GROUPS.items():
        chosen = [run for run in runs if run.run.startswith(begin) and run.run != skip]
        for measure in MEASURES:
            errors = [abs(error) for run in chosen if (error := run.error(measure)) is not None]
            if errors:
                print(f"{name}: {measure} median {median(errors):.1%}, worst {max(errors):.0%} of {len(errors)}")


def main() -> None:
    plain = replays()
    for run in plain:
        each = ", ".join(f"{name} {error:+.0%}" for name in MEASURES if (error := run.error(name)) is not None)
        print(f"{run.run} ({run.basis}): {each}")
    show(plain)
    first = plain[0]
    extra = first.measured["tpot"] - first.predicted["tpot"]
    print(f"with {extra * 1e3:.2f} ms a step, as {first.run} says:")
    show(replays(extra), skip=first.run)


if __name__ == "__main__":
    main()
