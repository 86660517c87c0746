"""Files that somebody might hand in to break the report of a class, to cheat in it, or by bad luck: 45 kinds of them.

Each function writes one and says what must become of it: the kind of its refusal, or "counted".
"""

import gzip
import io
import os
import random
import socket
import sys
import tarfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "classroom"))
from made_class import Plan, broken, events, export, identifier, plan, renamed, text

from ironlaw.ledger.events import Event

FORMULAS = (
    '=HYPERLINK("http://evil","x")', "+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", ";=1+1", "a;=1+1", "\t=1", "|calc", "＝1+1", '";"=1',
    "; @SUM(A1)", "x;\t-1", "'=1+1;=2",
)  # fmt: skip
MARKUP = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "</td><iframe src=//evil>", "&lt;b&gt;<b>x",
    "javascript:alert(1)", "<!--", "</style><style>*{display:none}", "' onmouseover='alert(1)", "]]><x>", "\u202e<a href=//evil>",
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What lies in the folder: its name there, what must become of it, and the plan where it counts."""

    name: str
    outcome: str
    counts: Plan | None = None
    note: str = ""  # the kind of note that it must get
    instead: int | None = None  # the learner who no longer counts


def kinds():
    """name -> function(folder, plan, number, chance)."""
    simple = {name: _content(name, kind) for name, (_, kind) in broken(plan(10_000)).items()}
    return simple | {
        "two-keys": _two_keys, "digits": _digits, "lists": _lists, "tar": _tar, "zip-of-ledgers": _zip, "gzip-bomb": _bomb,
        "sparse": _sparse, "link": _link, "link-outside": _link_outside, "link-loop": _loop, "link-folder": _link_folder,
        "pipe": _pipe, "socket": _socket,
        "impostor": _impostor, "formula": _formula, "markup": _markup, "labs": _labs, "questions": _questions, "beliefs": _beliefs,
        "long-choice": _long, "renamed": _renamed, "copied": _copied, "odd-name": _odd_name, "hidden": _hidden,
    }  # fmt: skip


def _content(name, kind):
    def make(folder, one, number, chance):
        content, _ = broken(one)[name]
        file = f"{number}-{name}"
        (folder / file).write_bytes(content)
        return Made(file, kind)

    return make


def _write(folder, number, data, name="hostile"):
    file = f"{number}-{name}.json"
    (folder / file).write_text(data if isinstance(data, str) else text(data), encoding="utf-8")
    return file


def _two_keys(folder, one, number, chance):
    whole = text(export(one)).replace('"correct": false', '"correct": true, "correct": false')
    return Made(_write(folder, number, whole.replace('"format"', '"format": "ironlaw-ledger/2", "format"', 1)), "damaged")


def _digits(folder, one, number, chance):
    return Made(_write(folder, number, text(export(one)).replace('"epoch": 1', f'"epoch": {"9" * 100_000}', 1)), "damaged")


def _lists(folder, one, number, chance):
    return Made(_write(folder, number, '{"format": "ironlaw-ledger/2", "events": [' + "[]," * 1_100_000 + "[]]}"), "damaged")


def _tar(folder, one, number, chance):
    out, data = io.BytesIO(), text(export(one)).encode()
    with tarfile.open(fileobj=out, mode="w") as archive:
        about = tarfile.TarInfo("../../ledger.json")
        about.size = len(data)
        archive.addfile(about, io.BytesIO(data))
    return _bytes(folder, f"{number}.tar", out.getvalue(), "foreign")


def _zip(folder, one, number, chance):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../ledger.json", text(export(one)))
    return _bytes(folder, f"{number}.zip", out.getvalue(), "foreign")


def _bomb(folder, one, number, chance):
    return _bytes(folder, f"{number}.json.gz", gzip.compress(bytes(5_000_000)), "foreign")


def _sparse(folder, one, number, chance):
    with (folder / f"{number}-sparse.json").open("wb") as file:
        file.truncate(40_000_000_000)
    return Made(f"{number}-sparse.json", "too large")


def _bytes(folder, name, content, kind):
    (folder / name).write_bytes(content)
    return Made(name, kind)


def _link(folder, one, number, chance):
    """To a classmate's ledger, so that it would count under another name."""
    (folder / f"{number}-link.json").symlink_to(next(path for path in folder.glob("*/ledger.json")))
    return Made(f"{number}-link.json", "link")


def _link_outside(folder, one, number, chance):
    (folder / f"{number}-passwd").symlink_to("/etc/passwd")
    return Made(f"{number}-passwd", "link")


def _loop(folder, one, number, chance):
    (folder / f"{number}-loop").symlink_to(f"{number}-loop")
    return Made(f"{number}-loop", "link")


def _link_folder(folder, one, number, chance):
    (folder / f"{number}-all").symlink_to(folder, target_is_directory=True)
    return Made(f"{number}-all", "link")


def _pipe(folder, one, number, chance):
    os.mkfifo(folder / f"{number}-pipe.json")
    return Made(f"{number}-pipe.json", "unreadable")


def _socket(folder, one, number, chance):
    here = os.getcwd()
    os.chdir(folder)  # a socket's path may have a hundred characters
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"{number}.sock")
    finally:
        os.chdir(here)
    return Made(f"{number}.sock", "unreadable")


def _impostor(folder, one, number, chance):
    """With a classmate's id, more events and all answers right: neither counts. The classmate is a good file of the class."""
    victim = plan(int(next(path for path in sorted(folder.glob("*_file")) if not (path / "taken").exists()).name.split("_")[1]))
    (folder / f"{victim.name}_{victim.number}_file" / "taken").mkdir()
    better = replace(victim, answers={key: (choice, True, c, s) for key, (choice, _, c, s) in victim.answers.items()}, name="Mallory")
    own = events(better)
    more = [replace(event, id=identifier(chance), attempt=2) for event in own]
    return Made(_write(folder, number, export(better, [*own, *more])), "contradicts", instead=victim.number)


def _counted(folder, one, number, data=None, note="", name="hostile"):
    return Made(_write(folder, number, export(one) if data is None else data, name), "counted", one, note)


def _formula(folder, one, number, chance):
    return _counted(folder, renamed(one, chance.choice(FORMULAS).replace("\t", " ")), number)


def _markup(folder, one, number, chance):
    return _counted(folder, renamed(one, chance.choice(MARKUP).replace("\u202e", "")), number)


def _more(one: Plan, chance: random.Random, many: int, kind: str, lab, payload):
    listed = events(one)
    last = listed[-1].time
    return [*listed, *(Event(identifier(chance), one.learner, 1, lab(i), 1, kind, payload(i), last) for i in range(many))]


def _labs(folder, one, number, chance):
    odd = chance.choice(MARKUP + FORMULAS).replace("\t", " ").replace("\u202e", "")
    listed = _more(one, chance, 2_000, "opened", lambda i: f"{odd[:80]} {number}-{i}", lambda i: {})
    return _counted(folder, one, number, export(one, listed), "unknown names")


def _questions(folder, one, number, chance):
    odd = chance.choice(FORMULAS).replace("\t", " ")
    payload = {"choice": "x", "value": 1.0, "confidence": 5, "correct": True}
    listed = _more(one, chance, 500, "prediction", lambda i: "lab_01_magnitude", lambda i: {"question": f"{odd} {number}-{i}", **payload})
    return _counted(folder, one, number, export(one, listed), "unknown names")


def _beliefs(folder, one, number, chance):
    payload = {"question": "act1_reflection", "choice": "x", "correct": False}
    listed = _more(one, chance, 300, "reflection", lambda i: "lab_01_magnitude", lambda i: payload | {"misconception": f"=<b>{number}-{i}"})
    return _counted(folder, one, number, export(one, listed))


def _long(folder, one, number, chance):
    """A second answer, which does not count, of 400,000 characters."""
    first = next(event for event in events(one) if event.kind == "prediction")
    again = replace(first, id=identifier(chance), attempt=2, payload=first.payload | {"choice": "<b>" * 130_000})
    return _counted(folder, one, number, export(one, [*events(one), again]))


def _renamed(folder, one, number, chance):
    data = export(one)
    return _counted(folder, one, number, {**data, "learner": {**data["learner"], "name": "The Dean"}}, "renamed")


def _copied(folder, one, number, chance):
    """A classmate's events under one's own id, chained anew. They count, and both files are named."""
    friend = plan(int(sorted(folder.glob("*_file"))[-1].name.split("_")[1]))
    mine = replace(friend, number=one.number, name=one.name)
    copied = [replace(event, learner=mine.learner) for event in events(friend)]
    copied[0] = replace(copied[0], payload={"name": one.name})
    return _counted(folder, mine, number, export(mine, copied), "shared")


def _odd_name(folder, one, number, chance):
    odd = chance.choice(
        ("=cmd|x", "<img src=x onerror=alert(1)>", "a\nb", "\u202egnp.exe", "-rf", ";=1+1", "\udcff\udcfe", "é" * 60, "@SUM(A1)")
    )
    file = f"{odd} {number}".replace("/", "_")
    (folder / file).write_bytes(b"")
    return Made(file, "empty")


def _hidden(folder, one, number, chance):
    (folder / f".{number}.json").write_text(text(export(one)))
    return Made(f".{number}.json", "hidden")
