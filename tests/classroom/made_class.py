"""A class of made-up learners: the ledger's own code writes their files, and a plan beside it says what is in them.

The plan is drawn before any file exists; the tests count in the plan, never in what the report read.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from uuid import UUID

from ironlaw.kit.question_sheet import load
from ironlaw.ledger import export_format
from ironlaw.ledger.chain import genesis, link
from ironlaw.ledger.events import Event, check, utc
from ironlaw.recall.beliefs import LABS

SLUGS = ("lab_01_magnitude", "lab_07_fusion")
BEGIN = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
STATED = {1: 0.25, 2: 0.45, 3: 0.65, 4: 0.80, 5: 0.95}


@cache
def asked():
    """[(lab, question)] of both labs, in order; keys are computed once."""
    return [
        (slug, question, question.right.id if question.options else "")
        for slug in SLUGS
        for question in load(LABS / slug / "questions.toml").questions.values()
    ]


@dataclass
class Plan:
    """What a learner is going to do. `answers`: (lab, question) -> (option's id or number, right, confidence, seconds it took)."""

    number: int
    ability: float
    name: str
    answers: dict = field(default_factory=dict)
    breaks: set = field(default_factory=set)  # questions before which the learner was away for an hour

    @property
    def learner(self) -> str:
        return identifier(random.Random(f"learner {self.number}"))


def identifier(draw: random.Random) -> str:
    return str(UUID(int=draw.getrandbits(128), version=4))


def plan(number: int) -> Plan:
    draw = random.Random(number)
    one = Plan(number, draw.random(), f"Learner {number:03d}")
    for slug, question, right in asked():
        if slug == SLUGS[1] and number % 3 == 0:
            continue  # a third of them did the first lab only
        is_right = draw.random() < 0.15 + 0.7 * one.ability
        if question.kind == "number":
            choice = float(question.answer) * (1.0 if is_right else draw.choice([0.1, 30.0]))
        else:
            choice = right if is_right else draw.choice([option.id for option in question.options if option.id != right])
        confidence = draw.randint(1, 5) if question.kind in ("prediction", "decision") else None
        key = (slug, question.name)
        one.answers[key] = (choice, is_right, confidence, draw.randint(20, 400))
        if draw.random() < 0.1:
            one.breaks.add(key)
    return one


def events(one: Plan) -> list[Event]:
    """As the labs write them: opened, then each answer in its time."""
    draw, now, out, lab = random.Random(f"events {one.number}"), BEGIN + timedelta(minutes=one.number), [], ""

    def add(slug: str, kind: str, payload: dict) -> None:
        event = Event(identifier(draw), one.learner, 1, slug, 1, kind, payload, utc(now))
        check(event)
        out.append(event)

    add("", "named", {"name": one.name})
    for slug, question, _ in asked():
        key = (slug, question.name)
        if key not in one.answers:
            continue
        if slug != lab:
            now += timedelta(minutes=3)
            add(slug, "opened", {})
            lab = slug
        choice, right, confidence, seconds = one.answers[key]
        now += timedelta(seconds=3600 if key in one.breaks else seconds)
        if question.kind == "number":
            add(slug, "challenge", {"question": question.name, "value": choice, "correct": right})
        elif confidence is not None:
            value = question.option(choice).value
            add(
                slug,
                "prediction",
                {"question": question.name, "choice": choice, "value": value, "confidence": confidence, "correct": right},
            )
        else:
            belief = None if right else question.option(choice).misconception
            add(slug, "reflection", {"question": question.name, "choice": choice, "correct": right, "misconception": belief})
    return out


def export(one: Plan, listed: list[Event] | None = None, exported: str = "2026-03-09T12:00:00.000000Z") -> dict:
    """A ledger file, packed and chained by the ledger's own functions."""
    listed = events(one) if listed is None else listed
    since = utc(BEGIN)
    digest, hashes = genesis(one.learner, since), []
    for event in listed:
        digest = link(digest, export_format.stored(event))
        hashes.append(digest)
    return {**export_format.pack(one.learner, one.name, listed, export_format.Chain(since, hashes)), "exported": exported}


def text(data: dict) -> str:
    return json.dumps(data, indent=1) + "\n"


def reordered(data: dict) -> dict:
    first, second, *rest = data["events"]
    return {**data, "events": [second, first, *rest]}


def changed(data: dict, number: int, **payload: object) -> dict:
    """One answer is made better than it was."""
    items = [dict(item) for item in data["events"]]
    items[number] = {**items[number], "payload": {**items[number]["payload"], **payload}}
    return {**data, "events": items}


def broken(one: Plan) -> dict[str, tuple[bytes, str]]:
    """name -> content and the kind that the report has to give it; all of them begin as files of one good ledger."""
    data = export(one)
    whole = text(data).encode()
    return {
        "empty.json": (b"", "empty"),
        "blank.json": (b" \r\n\t\n", "empty"),
        "truncated.json": (whole[: len(whole) * 2 // 3], "truncated"),
        "truncated-in-a-word.json": (whole[: whole.rindex(b'"correct"') + 4], "truncated"),
        "edited-answer.json": (text(changed(data, 2, correct=True, choice="e6x")).encode(), "edited"),
        "edited-order.json": (text(reordered(data)).encode(), "edited"),
        "edited-removed.json": (text({**data, "events": data["events"][:3] + data["events"][4:]}).encode(), "edited"),
        "edited-cut.json": (text({**data, "events": data["events"][:-2]}).encode(), "edited"),
        "edited-owner.json": (text({**data, "learner": {**data["learner"], "id": identifier(random.Random(7))}}).encode(), "edited"),
        "edited-kind.json": (text({**data, "events": [{**data["events"][0], "epoch": "one"}]}).encode(), "invalid"),
        "hashes-missing.json": (text({k: v for k, v in data.items() if k != "chain"}).encode(), "invalid"),
        "newer.json": (whole.replace(b"ironlaw-ledger/2", b"ironlaw-ledger/3"), "newer"),
        "grades.json": (b'{"grades": [1, 2, 3]}', "foreign"),
        "list.json": (b"[1, 2, 3]", "foreign"),
        "essay.txt": (b"Dear professor, my dog ate the ledger.", "foreign"),
        "picture.png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), "binary"),
        "ledger.db": (b"SQLite format 3\x00" + bytes(100), "foreign"),
        "all.zip": (b"PK\x03\x04" + bytes(100), "foreign"),
        "latin-1.json": (whole.replace(b"Learner", "Lärner".encode("latin-1")), "encoding"),
        "brace-lost.json": (whole.replace(b"{", b"", 2).replace(b"[", b"{", 1), "damaged"),
        "deep.json": (b'{"format": "ironlaw-ledger/2", "x": ' + b"[" * 100_000, "damaged"),
    }  # fmt: skip


def hand_in(folder: Path, learners: int, with_broken: bool = True) -> list[Plan]:
    """The folder of a class: `learners` good files in folders of their own, as a course system packs them, and the broken ones."""
    plans = [plan(number) for number in range(learners)]
    for one in plans:
        place = folder / f"{one.name}_{one.number}_file"
        place.mkdir(parents=True)
        (place / "ledger.json").write_text(text(export(one)), encoding="utf-8")
    if with_broken:
        for name, (content, _) in broken(plan(10_000)).items():
            (folder / name).write_bytes(content)
    return plans


def again(one: Plan, fewer: int) -> dict:
    """An earlier export of the same ledger."""
    return export(one, events(one)[:-fewer] if fewer else None, "2026-03-08T12:00:00.000000Z")


def renamed(one: Plan, name: str) -> Plan:
    return replace(one, name=name)
