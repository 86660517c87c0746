"""A trace of one's own: a CSV file with a column each for the arrival, the prompt's tokens and the output's."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ironlaw.engine.serving.llm.requests import Request
from ironlaw.errors import BadValue

# what each column is called by those who publish traces
NAMES = {
    "arrival": ("arrival", "arrived_at", "arrival_time", "timestamp", "time"),
    "prompt": ("prompt", "prompt_tokens", "contexttokens", "num_prefill_tokens", "input_tokens", "input_length"),
    "output": ("output", "output_tokens", "generatedtokens", "num_decode_tokens", "completion_tokens", "output_length"),
}


def read_trace(path: Path, columns: Mapping[str, str] | None = None) -> tuple[Request, ...]:
    """Requests in the order of the file. `columns`: what arrival, prompt and output are called, where that is none of the usual names.

    Arrivals are seconds or dates with times; the first is taken as 0.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except IsADirectoryError:
        raise BadValue(f"{path} is a folder; give a CSV file with columns arrival, prompt and output", "trace") from None
    except FileNotFoundError:
        raise BadValue(f"there is no {path}; give a CSV file with columns arrival, prompt and output", "trace") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadValue(f"{path.name} is not a CSV file ({error}); store it as text in UTF-8 with commas", "trace") from None
    if not rows or not rows[0]:
        raise BadValue(f"{path.name} is empty; its first line names the columns arrival, prompt and output", "trace")
    places = _places(path.name, rows[0], columns or {})
    requests: list[Request] = []
    begin, first = 0.0, ""
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path.name}, line {number}"
        cells = {name: row[place].strip() if place < len(row) else "" for name, place in places.items()}
        for name, cell in cells.items():
            if not cell:
                raise BadValue(f"{where}: no {name}; fill it in, or leave the line out", "trace")
        at = _moment(where, cells["arrival"])
        begin, first = (begin, first) if requests else (at, cells["arrival"])
        if _is_number(first) != _is_number(cells["arrival"]):
            raise BadValue(f"{where}: arrival {cells['arrival']!r}, and the first is {first!r}; give seconds or dates, not both", "trace")
        if requests and at - begin < requests[-1].arrive:
            raise BadValue(f"{where}: arrives at {cells['arrival']}, before the line above it; sort the file by arrival", "trace")
        requests.append(Request(at - begin, _tokens(where, "prompt", cells["prompt"]), _tokens(where, "output", cells["output"])))
    if not requests:
        raise BadValue(f"{path.name} has a header but no requests; give at least one line", "trace")
    return tuple(requests)


def _places(file: str, head: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    names = [name.strip().lower() for name in head]
    places = {}
    for ours, usual in NAMES.items():
        wanted = (columns[ours].strip().lower(),) if ours in columns else usual
        match = next((name for name in wanted if name in names), None)
        if match is None:
            hint = f"rename one, or say which it is: --columns {ours}=NAME"
            if ";" in head[0] or "\t" in head[0]:
                hint = "separate columns with commas"
            if all(_is_number(name) for name in names):
                hint = "its first line must name the columns, such as arrival,prompt,output"
            raise BadValue(f"{file} has no column {wanted[0]!r}; it has {', '.join(head)}; {hint}", "trace")
        if names.count(match) > 1:
            raise BadValue(f"{file} has {names.count(match)} columns {match!r}; rename all but one", "trace")
        places[ours] = names.index(match)
    return places


def _moment(where: str, cell: str) -> float:
    try:
        seconds = float(cell)
    except ValueError:
        try:
            moment = datetime.fromisoformat(cell)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()  # the same everywhere
        except ValueError:
            raise BadValue(f"{where}: arrival {cell!r} is neither seconds nor a date with a time; write 12.5", "trace") from None
    if not math.isfinite(seconds) or seconds < 0:
        raise BadValue(f"{where}: arrival {cell!r}; give seconds of at least 0", "trace")
    return seconds


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _tokens(where: str, name: str, cell: str) -> int:
    try:
        value = float(cell)
    except ValueError:
        raise BadValue(f"{where}: {name} {cell!r} is not a number; write whole tokens, such as 374", "trace") from None
    if not 1 <= value <= 1e9 or value != int(value):
        raise BadValue(f"{where}: {name} {cell!r}; give a whole number of tokens, at least 1", "trace")
    return int(value)
