"""Where a model's config.json is: in a folder, or in the local cache of the Hugging Face hub under the model's id."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def is_hub_id(name: str) -> bool:
    """`Qwen/Qwen3-32B`: one slash, and no such folder here."""
    return bool(HUB_ID.fullmatch(name)) and not Path(name).exists() and not name.endswith((".json", ".py", ".pt2", ".toml"))


def hub_folder() -> Path:
    """The folder as huggingface_hub finds it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(home) / "hub"


def in_cache(name: str) -> Path | None:
    """The newest snapshot's config.json of a hub id; None where it was never downloaded."""
    folder = hub_folder() / f"models--{name.replace('/', '--')}" / "snapshots"
    found = sorted(folder.glob("*/config.json"), key=lambda file: file.stat().st_mtime) if folder.is_dir() else []
    return found[-1] if found else None


def config_file(place: Path) -> Path:
    name = place.as_posix()
    if is_hub_id(name):
        if (file := in_cache(name)) is not None:
            return file
        raise BadValue(
            f"{name} is not in the local cache ({hub_folder()}), and nothing is fetched from the network here; download it"
            f" (hf download {name} config.json), or save its config.json (https://huggingface.co/{name}/blob/main/config.json) in a folder"
            f" and give that, as in ./{place.name}",
            "model",
        )
    return place / "config.json" if place.is_dir() or place.suffix != ".json" else place


def config_of(place: Path) -> tuple[Path, Mapping[str, Any]]:
    """A folder's config file, and what is in it."""
    file = config_file(place)
    try:
        config = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise BadValue(f"there is no {file}; give a folder with the config.json of a transformers model") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise BadValue(f"{file} is not JSON ({error}); give the config.json of a transformers model") from None
    return file, config if isinstance(config, Mapping) else {}


def model_name(file: Path) -> str:
    """The folder's, or the hub's name for it."""
    snapshot = file.parent
    if snapshot.parent.name == "snapshots" and snapshot.parent.parent.name.startswith("models--"):
        return snapshot.parent.parent.name.rpartition("--")[2]
    return snapshot.name or "model"
