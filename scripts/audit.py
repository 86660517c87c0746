"""Known holes in the packages that the locks hold: `make audit`. pip-audit asks PyPI, which must be reachable.

    python scripts/audit.py PIP_AUDIT [LOCK ...]    all locks, unless some are named

Ends with 0 if every package was looked up and none has a known hole, 1 if one has, 3 if some could not be looked up: a mirror has the
packages but not what is known about them, and pip-audit alone calls that "No known vulnerabilities found".
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCKS = Path(__file__).resolve().parent.parent / "locks"
HOLES, NOT_LOOKED_UP = 1, 3
PATIENCE_S = 600


def audit(program: str, lock: Path) -> list[dict[str, Any]]:
    """A record for each package: its holes as `vulns`, or a `skip_reason`."""
    command = [program, "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--timeout", "30", "--format", "json"]
    done = subprocess.run([*command, "--requirement", str(lock)], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        reason = (done.stderr.strip() or "pip-audit said nothing").splitlines()[-1]
        return [{"name": lock.stem, "skip_reason": reason}]


def report(records: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """The exit code, and what to print."""
    once = {(record["name"], record.get("version", "")): record for record in records}.values()
    lines = [
        f"{record['name']} {record['version']}: {hole['id']}, fixed in {', '.join(hole['fix_versions']) or 'no version yet'}"
        for record in once
        for hole in record.get("vulns", ())
    ]
    skipped = [record for record in once if "skip_reason" in record]
    count = len(once) - len(skipped)
    lines.append(f"{count} packages looked up, {len(lines)} known holes")
    if skipped:
        lines.append(f"not looked up: {', '.join(record['name'] for record in skipped)} ({skipped[0]['skip_reason']})")
    return HOLES if any(record.get("vulns") for record in once) else NOT_LOOKED_UP if skipped else 0, lines


def main(program: str = "", *names: str) -> int:
    if not program:
        print(__doc__, file=sys.stderr)
        return 2
    locks = [LOCKS / f"{name}.txt" for name in names] or sorted(LOCKS.glob("*.txt"))
    code, lines = report([record for lock in locks for record in audit(program, lock)])
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
