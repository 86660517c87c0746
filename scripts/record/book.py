"""A record: under each key, the hash of each of its parts. The values are in a compressed file beside it, one per line with its hash."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from still import blanked

Items = dict[str, dict[str, str]]
WIDE = 150  # characters of a line of a difference


class Difference(NamedTuple):
    """`before` and `now` are hashes, None where there is nothing."""

    key: str
    part: str
    before: str | None
    now: str | None

    @property
    def place(self) -> str:
        """Its group, and which lab or command of that."""
        return "/".join(self.key.split("/")[:2])


class Book:
    """Takes values, writes each once."""

    def __init__(self, values: Path, place: Path) -> None:
        self.items: Items = {}
        self.place = place
        self._seen: set[str] = set()
        self._file = gzip.open(values, "wt", compresslevel=4, encoding="utf-8")  # noqa: SIM115  `close` closes it

    def keep(self, key: str, parts: Mapping[str, Any]) -> None:
        if key in self.items:
            raise ValueError(f"{key} was recorded already; name it otherwise")
        hashes = {}
        for part, value in parts.items():
            text = blanked(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")), self.place)
            hashes[part] = digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
            if digest not in self._seen:
                self._seen.add(digest)
                self._file.write(f"{digest} {text}\n")
        self.items[key] = hashes

    def close(self) -> None:
        self._file.close()


def values_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def look_up(path: Path, hashes: set[str]) -> dict[str, Any]:
    """Hash -> value."""
    values = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            digest, _, text = line.partition(" ")
            if digest in hashes:
                values[digest] = json.loads(text)
    return values


def differences(old: Items, new: Items) -> Iterator[Difference]:
    """All that is no longer the same. An item that only the new record has is not a difference: something was added."""
    for key, before in old.items():
        now = new.get(key)
        if now is None:
            yield Difference(key, "", "", None)
            continue
        for part in [*before, *(part for part in now if part not in before)]:
            if before.get(part) != now.get(part):
                yield Difference(key, part, before.get(part), now.get(part))


def diff(old: Any, new: Any, most: int = 6) -> list[str]:
    """The first places where two values differ, each with what stands there before and now."""
    return [line for _, line in zip(range(most), _diff(_parsed(old), _parsed(new), ""), strict=False)]


def _parsed(value: Any) -> Any:
    """A figure crosses to the browser as a text of its own."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _diff(old: Any, new: Any, where: str) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in old or key not in new:
                yield f"{where}.{key}: {'new' if key in new else 'gone'}: {_short(new[key] if key in new else old[key])}"
            else:
                yield from _diff(_parsed(old[key]), _parsed(new[key]), f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, now) in enumerate(zip(old, new, strict=True)):
            yield from _diff(_parsed(before), _parsed(now), f"{where}[{index}]")
    elif isinstance(old, str) and isinstance(new, str):
        yield from _texts(old, new, where)
    else:
        yield f"{where}: {_short(old)} -> {_short(new)}"


def _texts(old: str, new: str, where: str) -> Iterator[str]:
    if "\n" in old + new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
        yield from (f"{where} {line[:WIDE]}" for line in lines if line[:3] not in ("---", "+++") and not line.startswith("@@"))
        return
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    begin = max(0, start - 40)
    yield f"{where}: …{old[begin : begin + WIDE]!r}"
    yield f"{'':{len(where)}}  …{new[begin : begin + WIDE]!r}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDE else text[:WIDE] + "…"


def chosen(items: Items, groups: Iterable[str], settings: int = 1000) -> Items:
    """Those of some groups (`cli`, or `labs:lab_07`, the start of what follows the first slash), and of the labs' settings the first."""
    wanted = tuple(group.replace(":", "/") for group in groups)
    return {key: parts for key, parts in items.items() if (not wanted or key.startswith(wanted)) and _number(key) < settings}


def _number(key: str) -> int:
    """Of a setting of a lab's dials; -1 for anything else."""
    match = re.match(r"labs/.*/turned/(\d+) ", key)
    return int(match[1]) if match else -1
