"""What computes a text or reads a file that somebody wrote, watched: it runs no code, opens no other file, and takes no longer than a page
may wait."""

import random
import runpy
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

import hostile_expressions as hostile

import ironlaw
from ironlaw.errors import IronlawError

LONGEST_S = 0.2  # of processor time
REPOSITORY = Path(__file__).parents[2]
PACKAGE = Path(ironlaw.__file__).parent
ALLOWED = (str(PACKAGE), sys.prefix, sys.base_prefix, *(path for path in sys.path if path.endswith(("site-packages", "dist-packages"))))
RUNS = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "socket.connect",
    "os.remove",
    "os.rename",
    "shutil.rmtree",
    "ctypes.dlopen",
)
watching: list[list[str]] = []


def _hook(event: str, args: tuple) -> None:
    """An audit hook can't be taken off again; it looks on only while an attack runs."""
    if watching and (event in RUNS or (event == "open" and isinstance(args[0], str) and not args[0].startswith(ALLOWED))):
        watching[-1].append(f"{event} {args[0]}")


sys.addaudithook(_hook)


def is_soon(took):
    """Within the limit on the machine on which the suite's budgets were set; one that is slower, or busy, is given as much more."""
    if took < LONGEST_S:
        return True
    usual = tomllib.loads((REPOSITORY / "tests" / "budget.toml").read_text(encoding="utf-8"))["loop_s"]
    return took < LONGEST_S * runpy.run_path(str(REPOSITORY / "scripts" / "budget.py"))["loop"]() / usual


def attack(place, use, inputs, canary, figure):
    """`use(text)` computes; IronlawError is a refusal."""
    outcomes, slowest, longest = Counter(), 0.0, 0
    for text in inputs:
        watching.append([])
        begun = time.thread_time()
        try:
            use(text)
            outcomes["computed"] += 1
        except IronlawError as error:
            outcomes["refused"] += 1
            longest = max(longest, len(str(error)))
            assert str(error).strip() and "Traceback" not in str(error)
        finally:
            took, seen = time.thread_time() - begun, watching.pop()
        assert not seen and not canary.exists(), (text, seen)
        assert is_soon(took), (took, text)
        slowest = max(slowest, took)
    assert longest <= 5_000
    total = sum(outcomes.values())
    figure(f"{place}: {total:,} texts, {outcomes['refused']:,} refused, {outcomes['computed']:,} computed; slowest {slowest * 1e3:.0f} ms")
    return outcomes


def odd_values(seed):
    chance = random.Random(seed)
    given = hostile.texts(seed, Path("canary"))
    while True:
        yield chance.choice(hostile.ODD_VALUES) if chance.random() < 0.7 else next(given)


def replaced(node, chance, given):
    """One value of a table, wherever it is, by an odd one; seldom the whole table."""
    if isinstance(node, dict) and node and chance.random() < 0.9:
        key = chance.choice(list(node))
        return {**node, key: replaced(node[key], chance, given)}
    if isinstance(node, list) and node and chance.random() < 0.9:
        place = chance.randrange(len(node))
        return [*node[:place], replaced(node[place], chance, given), *node[place + 1 :]]
    return next(given)
