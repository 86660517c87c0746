"""What the tests took, folder by folder, against tests/budget.toml: the last step of `make test`.

    IRONLAW_CPU_LOG=cpu.jsonl pytest tests/engine && python scripts/budget.py cpu.jsonl

Seconds are processor time, brought to the machine on which the budgets were set by a loop timed on both. A folder over its budget is
named; one at more than SLACK times its budget fails, since a busy machine alone does not do that (--slack 1: any folder over it fails). The
loop itself runs half as long again from one minute to the next, so that a folder fails by its own seconds too, not by the loop alone.
"""

import argparse
import json
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median

BUDGET = Path(__file__).parents[1] / "tests" / "budget.toml"
START = "start and collection"
TRIFLE = 20  # seconds over a budget that fail nothing


def loop() -> float:
    """Processor seconds of a fixed piece of work: the median of fifteen."""

    def once() -> float:
        start = time.process_time()
        sum(number * number % 7 for number in range(1_000_000))
        return time.process_time() - start

    return median(once() for _ in range(15))


def folder(test: str) -> str:
    """tests/engine/device/test_work.py::test_add is engine's; a file that lies in tests itself is "tests"."""
    if not test:
        return START
    parts = test.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "tests"


def read(log: Path) -> tuple[Counter[str], Counter[str]]:
    """Seconds by folder, and by test."""
    folders, tests = Counter[str](), Counter[str]()
    for line in log.read_text(encoding="utf-8").splitlines():
        name, spent = json.loads(line)
        folders[folder(name)] += spent
        tests[name] += spent
    del tests[""]
    return folders, tests


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--slack", type=float, default=2.0)
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="also the N tests that took most")
    options = parser.parse_args()
    if not options.log.exists():
        parser.error(f"{options.log} is not there: run the tests with IRONLAW_CPU_LOG={options.log}")
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    scale = budget["loop_s"] / loop()
    folders, tests = read(options.log)
    print(f"\nprocessor seconds by folder (this machine's × {scale:.2f})\n{'':22}{'took':>8}{'budget':>8}")
    failed = False
    for name, spent in sorted(folders.items(), key=lambda entry: -entry[1]):
        allowed = budget["folders"].get(name, 0)
        over = spent * scale / allowed if allowed else float("inf")
        surely = spent * min(scale, 1.0)
        failed |= surely > options.slack * allowed and surely - allowed > TRIFLE
        note = "" if over <= 1 else "  no budget in tests/budget.toml" if not allowed else f"  {over:.1f} times its budget"
        print(f"{name:22}{spent * scale:8.0f}{allowed:8.0f}{note}")
    print(f"{'all':22}{folders.total() * scale:8.0f}{sum(budget['folders'].values()):8.0f}")
    for name, spent in tests.most_common(options.slowest):
        print(f"{spent * scale:8.1f}  {name}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
