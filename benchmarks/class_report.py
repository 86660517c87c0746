"""`ironlaw class report` on a large class: its processor time, its time and its memory, of all its processes together.

    python benchmarks/class_report.py [--ledgers 10000] [--folder FOLDER] [--json FILE]

Each learner has taken ten labs or more, answered and stepped as the labs write it, reviewed some cards, and has ids, times, answers and a
chain of their own: 190 events and 80 kB on average. With `--folder` the ledgers stay there, and a later run reads them again. Memory is the
proportional set size, in which processes that share a page count it once, asked for five times a second; where the system doesn't say
(anything but Linux), resident memory. Machines differ, so a loop of fixed work is timed beside it (scripts/budget.py).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil  # type: ignore[import-untyped]

from ironlaw.errors import IronlawError
from ironlaw.kit.question_sheet import Question, load
from ironlaw.ledger import Event, export_format
from ironlaw.ledger.chain import genesis, link
from ironlaw.ledger.events import utc
from ironlaw.recall.beliefs import LABS
from ironlaw.recall.card_templates import templates

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from budget import loop

BEGIN = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
FEWEST_LABS = 10
CARDS = 15
MOST = 10_000
DESIGN = {
    "load": 0.1, "rate": 3.5, "policy": "fixed", "batch": 16, "replicas": 3, "target_p99_s": 0.07, "model": "llama3_8b", "fused": True,
    "box": "dgx_a100", "ranks": 16, "nics": 3, "beta_bytes_per_s": 1e9, "parameters": 8e9, "machine": "h100_sxm", "context": "server",
}  # fmt: skip
STEPS = ("act1.question", "act1.instrument", "act1.peek", "act2.question", "act2.peek")
EVERY_S = 0.2


@cache
def asked() -> dict[str, list[tuple[Question, str]]]:
    """Lab -> its questions, each with the right option."""
    sheets = {path.parent.name: load(path) for path in sorted(LABS.glob("lab_*/questions.toml"))}
    return {slug: [(q, _right(q)) for q in sheet.questions.values()] for slug, sheet in sheets.items()}


def _right(question: Question) -> str:
    if not question.options:
        return ""
    try:
        return question.right.id
    except IronlawError:  # each learner's own
        return question.options[0].id


def events(number: int) -> Iterator[Event]:
    draw = random.Random(number)
    learner, now, ability = _id(random.Random(f"learner {number}")), BEGIN + timedelta(minutes=number % 500), draw.random()

    def event(lab: str, kind: str, payload: dict[str, Any]) -> Event:
        nonlocal now
        now += timedelta(seconds=draw.randint(5, 300) if draw.random() > 0.03 else 7200, microseconds=draw.randrange(10**6))
        return Event(_id(draw), learner, 1, lab, 1, kind, payload, utc(now))

    yield event("", "named", {"name": f"Learner {number:05d}"})
    slugs = list(asked())
    for slug in slugs[: draw.randint(FEWEST_LABS, len(slugs))]:
        yield event(slug, "opened", {})
        for step in STEPS:
            yield event(slug, "step", {"step": step})
        for question, right in asked()[slug]:
            correct = draw.random() < 0.15 + 0.7 * ability
            if question.kind == "number":
                value = float(question.answer) * (1.0 if correct else draw.choice([0.1, 30.0]))
                yield event(slug, "challenge", {"question": question.name, "value": value, "correct": correct})
                continue
            chosen = question.option(right) if correct else draw.choice([one for one in question.options if one.id != right])
            answer = {"question": question.name, "choice": chosen.id, "correct": correct}
            if question.kind in ("prediction", "decision"):
                answer |= {"value": chosen.value, "confidence": draw.randint(1, 5)}
                yield event(slug, "prediction", answer)
            else:
                yield event(slug, "reflection", {**answer, "misconception": None if correct else chosen.misconception})
        yield event(slug, "design", DESIGN)
    for card in draw.sample(sorted(templates()), CARDS):
        beliefs = templates()[card].misconceptions
        correct = draw.random() < ability or not beliefs
        stated = {"confidence": draw.randint(1, 5), "correct": correct, "misconception": None if correct else draw.choice(sorted(beliefs))}
        yield event("review", "reviewed", {"card": card, "seed": 0, "answer": "a", **stated, "at": utc(now)})


def _id(draw: random.Random) -> str:
    return str(UUID(int=draw.getrandbits(128), version=4))


def ledger(number: int) -> str:
    listed = list(events(number))
    since, hashes = utc(BEGIN), list[str]()
    digest = genesis(listed[0].learner, since)
    for event in listed:
        digest = link(digest, export_format.stored(event))
        hashes.append(digest)
    name = str(listed[0].payload["name"])
    return json.dumps(export_format.pack(listed[0].learner, name, listed, export_format.Chain(since, hashes)), indent=1) + "\n"


def report(folder: Path, out: Path) -> dict[str, float]:
    """Seconds, processor seconds, and the most memory that the command had at once, in all its processes and in its largest."""
    begun, most, largest, at_once = time.monotonic(), 0.0, 0.0, 0
    command = [sys.executable, "-m", "ironlaw", "class", "report", str(folder), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        main = psutil.Process(process.pid)
        while process.poll() is None:
            sizes = [size for one in [main, *_children(main)] if (size := _memory(one))]
            most, largest, at_once = max(most, sum(sizes)), max([largest, *sizes]), max(at_once, len(sizes))
            time.sleep(EVERY_S)
    if process.returncode:
        raise SystemExit(f"`{' '.join(command)}` ended with {process.returncode}")
    times = psutil.Process().cpu_times()
    spent = times.children_user + times.children_system
    return {"seconds": time.monotonic() - begun, "cpu_s": spent, "memory_bytes": most, "largest_bytes": largest, "processes": at_once}


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def _memory(process: psutil.Process) -> int:
    try:
        sizes = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    return int(getattr(sizes, "pss", 0) or sizes.rss)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ledgers", type=int, default=MOST)
    parser.add_argument("--folder", type=Path, help="where the ledgers are, or are to be written; a folder of its own if left out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not 1 <= options.ledgers <= MOST:
        parser.error(f"--ledgers: 1 to {MOST:,}")
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place) / "in"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(options.ledgers):
            file = folder / f"ledger-{number:05d}.json"
            if not file.exists():
                file.write_text(ledger(number), encoding="utf-8")
        sizes = [path.stat().st_size for path in folder.glob("*.json")]
        measured = {
            "ledgers": len(sizes),
            "mean_kB": sum(sizes) / len(sizes) / 1e3,
            "loop_s": loop(),
            **report(folder, Path(place) / "out"),
        }
    for name, value in measured.items():
        print(f"{name:14} {value:,.4g}" if value < 1e5 else f"{name:14} {value / 1e9:.3f} GB")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
