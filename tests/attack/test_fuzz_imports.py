"""Files from elsewhere, damaged: a trace, this machine's figures, curves and evidence, a history of accuracy.

Bytes are changed, cut and doubled, and values replaced by odd ones of every type. What is refused says so with exit code 2; what is
accepted is used, and that must not fail either. (Imports of ledgers are in test_ledger_*.py.)
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack_length import fuzzing
from hypothesis import given
from hypothesis import strategies as st
from test_fuzz_cli import run

from ironlaw.calibration import local_machine
from ironlaw.cli import accuracy_history
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.errors import IronlawError
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.report import kineto, trace_join

DATA = Path(__file__).parents[1] / "report" / "data"
MACHINE = "neoverse_n1_2core"
ODD_JSON: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**30, 10**400, -(10**400), 0.5, 1e308, float("nan"), float("inf"), "", "x", "nan", "<script>", "\ud800",
    "µ" * 50,
    [], [[]], [None], [1, "a"], {}, {"": 1}, {"a": {"b": []}}, [0] * 200, "9" * 5000,
)  # fmt: skip
ODD_TOML = (
    '""',
    "0",
    "-1",
    "nan",
    "inf",
    "true",
    "[]",
    "{}",
    "[[]]",
    "1979-05-27",
    '"1e400 GB"',
    '"-5 GB/s"',
    '"nan GB"',
    '"5"',
    "'x'",
    "9" * 400,
    "=",
    "",
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """One to three changes of bytes."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        place, length = chance.randrange(len(data) + 1), chance.choice((1, 1, 1, 8, 200))
        how = chance.randrange(5)
        if how == 0 and data:
            data[min(place, len(data) - 1)] ^= 1 << chance.randrange(8)
        elif how == 1:
            del data[place : place + length]
        elif how == 2:
            data[place:place] = data[place : place + length]
        elif how == 3:
            data[place:place] = bytes(chance.randrange(256) for _ in range(length))
        else:
            data = data[: max(place, 1)]
    return bytes(data)


def with_odd_value(data: Any, chance: random.Random) -> Any:
    """The same tree with one leaf or branch replaced, or one key removed."""
    if not isinstance(data, (dict, list)) or not data or chance.random() < 0.15:
        return chance.choice(ODD_JSON)
    keys: list[Any] = list(data) if isinstance(data, dict) else list(range(len(data)))
    key, out = chance.choice(keys), data.copy()
    if chance.random() < 0.1:
        del out[key]
    else:
        out[key] = with_odd_value(out[key], chance)
    return out


def odd_json(content: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return damaged(content, chance)
    data = json.loads(content)
    for _ in range(chance.randint(1, 3)):
        data = with_odd_value(data, chance)
    if chance.random() < 0.03:
        return b'{"traceEvents": ' + b"[" * 100_000
    return json.dumps(data).encode()


def odd_toml(content: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return damaged(content, chance)
    lines = content.decode().splitlines()
    for _ in range(chance.randint(1, 3)):
        place = chance.choice([i for i, line in enumerate(lines) if "=" in line])
        key, _, value = lines[place].partition("=")
        start, comma, rest = value.partition('"')
        lines[place] = chance.choice(
            ("", f"{key}= {chance.choice(ODD_TOML)}", f"{key}={start}{comma}{chance.choice(('9', '-', 'µ'))}{rest}", f"[{key}]")
        )
    return "\n".join(lines).encode()


def fuzz(name: str, examples: tuple[int, int], use: Callable[[random.Random], bool], figure: Callable[[str], None]) -> None:
    """`use` damages a file and uses it: True where it was accepted."""
    outcomes: Counter[bool] = Counter()

    @fuzzing(*examples)
    @given(st.integers(0, 2**32))
    def attack(seed: int) -> None:
        outcomes[use(random.Random(seed))] += 1

    attack()
    figure(
        f"{sum(outcomes.values()):,} damaged {name}: 0 tracebacks; {outcomes[False]:,} refused, {outcomes[True]:,} still readable and used"
    )


def said(*argv: str) -> int:
    code, out, err = run([*argv], {"COLUMNS": "120"})
    assert code in (0, 1, 2) and "Traceback" not in out + err, (code, err)
    assert code != 2 or err.startswith("ironlaw: "), err
    return code


# ---- a trace


def test_traces(tmp_path, figure):
    place = tmp_path / "trace.json"
    contents = [(DATA / "cuda.json").read_bytes(), gzip.decompress((DATA / "cpu_three_runs.json.gz").read_bytes())]
    small = [json.dumps({**json.loads(c), "traceEvents": json.loads(c)["traceEvents"][:60]}).encode() for c in contents]
    prediction = predict(workload("dscnn_kws"), hardware("t4"), Plan("eager"))

    def use(chance: random.Random) -> bool:
        content = odd_json(chance.choice(small), chance)
        packed = gzip.compress(content, 1)
        place.write_bytes(chance.choice((content, content, packed, damaged(packed, chance))))
        try:
            trace = kineto.read(place)
        except IronlawError:
            return False
        trace_join.join(prediction, trace)
        return True

    fuzz("traces", (30, 500), use, figure)


# ---- this machine


@pytest.fixture
def this(ironlaw_home):
    """This machine, as `ironlaw measure` would have left it: figures, curves, evidence."""
    sources = {
        "figures": (local_machine.figures(), folder("hardware") / f"{MACHINE}.toml"),
        "curves": (local_machine.curves(), next(folder("hardware").parent.rglob(f"calibration*/{MACHINE}.json"))),
    }
    for place, source in sources.values():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(source.read_bytes())
    assert said("predict", "dscnn_kws", "--on", "this") == 0
    return {name: (place, place.read_bytes()) for name, (place, _) in sources.items()}


def test_figures_of_this_machine(this, figure):
    place, whole = this["figures"]

    def use(chance: random.Random) -> bool:
        place.write_bytes(odd_toml(whole, chance))
        codes = {said("predict", "dscnn_kws", "--on", "this"), said("hardware", "this")}
        return codes == {0}

    fuzz("files of a machine's figures", (12, 250), use, figure)


def test_curves_of_this_machine(this, figure):
    place, whole = this["curves"]

    def use(chance: random.Random) -> bool:
        place.write_bytes(odd_json(whole, chance))
        return said("predict", "dscnn_kws", "--on", "this") == 0

    fuzz("files of a machine's curves", (12, 250), use, figure)


def test_evidence_of_this_machine(this, figure):
    source = min((folder("evidence") / MACHINE).glob("*.json"), key=lambda path: path.stat().st_size)
    data = json.loads(source.read_bytes())
    whole = json.dumps({**data, "rows": data["rows"][:12]}).encode()
    place = local_machine.evidence_folder() / "models.json"
    place.parent.mkdir(parents=True, exist_ok=True)

    def use(chance: random.Random) -> bool:
        place.write_bytes(odd_json(whole, chance))
        return said("validate", "--on", "this") in (0, 1)

    fuzz("files of evidence", (12, 250), use, figure)


# ---- the history of accuracy


def test_histories(tmp_path, monkeypatch, figure):
    monkeypatch.setattr("ironlaw.compare.comparisons", lambda *_: iter(()))
    monkeypatch.setattr("ironlaw.claims.claims", dict)
    monkeypatch.setattr("ironlaw.systems.accuracy.measured_gains.gain_summaries", lambda _: {})
    whole = (Path(__file__).parents[2] / accuracy_history.PLACE).read_bytes()
    place = tmp_path / "accuracy.json"

    def use(chance: random.Random) -> bool:
        content = odd_json(whole, chance)
        place.write_bytes(content)
        code = said("validate", "--history", str(place))
        assert code == 0 or place.read_bytes() == content  # what is refused stays as it is
        return code == 0

    fuzz("histories", (12, 250), use, figure)
