"""Premises of the story, as numbers: what questions.toml has under [given]."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ironlaw.kit.question_sheet import load


@cache
def given(name: str) -> float:
    return float(load(Path(__file__).with_name("questions.toml")).premises[name].replace(",", ""))
