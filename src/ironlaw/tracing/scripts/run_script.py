"""Runs a script up to the end of a step, and gives the graph of that step with what was found and what was assumed."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError, MissingExtra
from ironlaw.tracing.user_modules import RELATIVE, absent, found_from, in_package

STEPS = 3  # the optimiser's state is there from the second step on, and the third is like all that follow
WARM = 3  # steps of a run for real that make state, kernels and pools, and are not timed
LIBRARIES = {  # which capture changes while it runs
    "transformers": ("transformers.masking_utils", "transformers.models.auto", "transformers", "transformers.trainer"),
    "torchvision": ("torchvision.ops.boxes", "torchvision.datasets", "torchvision.models"),
    "datasets": ("datasets",),
    "evaluate": ("evaluate",),
    "timm": ("timm",),
    "WikiText2": ("lightning.pytorch.demos.transformer", "pytorch_lightning.demos.transformer"),
}
NEXT_FILE = "\n\f\n"
MOST_FILES = 300  # to look through for what is imported
IMPORTS = re.compile(r"^\s*(?:from|import)\s.+$", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """`place`: a file, or with `module` a module's name as after `python -m`."""

    place: str
    arguments: Sequence[str] = ()
    module: bool = False
    steps: int = STEPS
    real: bool = False
    world: int | None = None  # ranks that are pretended
    changes: Collection[str] = field(default_factory=tuple)
    times: int = 1  # as many times the batch
    alike: bool = False  # equal microbatches of a step are captured once; `Differs` where they turn out not to be
    numbers: Mapping[str, list[Any]] | None = None  # what an earlier run has read, which came as far as this one is to go


def run_script(asked: Script, progress: Any = None) -> Graph:
    try:
        import torch
    except ImportError:
        raise MissingExtra("analyze needs PyTorch to run a script; install it with: pip install torch") from None
    from ironlaw.tracing import fake_run
    from ironlaw.tracing.equal_passes import Differs
    from ironlaw.tracing.fakes import Fakes
    from ironlaw.tracing.recorder import Recorder
    from ironlaw.tracing.scripts.absent_data import made_up
    from ironlaw.tracing.scripts.absent_files import nothing_fetched
    from ironlaw.tracing.scripts.found import graph_of_unit
    from ironlaw.tracing.scripts.loaders import Loaders, loaded
    from ironlaw.tracing.scripts.moved_modules import moving
    from ironlaw.tracing.scripts.picture_sets import pictures
    from ironlaw.tracing.scripts.pretended_gpu import Pinned, gpu
    from ironlaw.tracing.scripts.pretended_world import world
    from ironlaw.tracing.scripts.text_sets import texts
    from ironlaw.tracing.scripts.units import Ended, Units
    from ironlaw.tracing.scripts.written_files import kept_from_writing, unwritten

    recorder = Recorder(progress)
    recorder.known_numbers = dict(asked.numbers or {})
    fakes = Fakes(recorder)
    units = Units(recorder, asked.steps, asked.numbers is not None)
    loaders = Loaders(fakes, asked.times, asked.real, lambda: bool(units.optimisers), asked.steps + 1)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        for library in ("torch", "ironlaw"):  # of workers that are not started, of ranks that are not there
            warnings.filterwarnings("ignore", module=rf"{library}\.")
        stack.enter_context(as_main(asked))
        stack.enter_context(gpu(asked.world or 1))
        absent = stack.enter_context(made_up(known(asked)))
        stack.enter_context(nothing_fetched(absent))
        stack.enter_context(pictures(absent))
        stack.enter_context(texts(absent))
        written = stack.enter_context(kept_from_writing())
        stack.enter_context(world(asked.world))
        stack.enter_context(moving())
        stack.enter_context(loaded(loaders))
        stack.enter_context(units.watching())
        stack.enter_context(Pinned())
        stack.enter_context(torch.random.fork_rng(devices=[]))
        with suppress(Ended):
            try:
                fake_run.script(lambda: start(asked), fakes, asked.changes, asked.alike and not asked.world)
            except SystemExit as ended:
                if ended.code not in (None, 0) and units.kept is None:
                    raise BadValue(stopped(asked, ended)) from None
            except IronlawError:
                raise
            except Exception as error:
                if getattr(recorder.skipped, "copied", False):
                    raise Differs from error
                if units.kept is None or not isinstance(error, FileNotFoundError):
                    raise failed(asked, error) from error
    graph = graph_of_unit(asked, units, loaders, [*absent.notes, *unwritten(written)])
    return replace(graph, settings={**graph.settings, "script": True})


@contextmanager
def as_main(asked: Script) -> Iterator[None]:
    """Python's own state as a script finds it."""
    before, path, environment = sys.argv, list(sys.path), dict(os.environ)
    sys.argv = [asked.place, *asked.arguments]
    sys.path.insert(0, os.getcwd() if asked.module else str(Path(asked.place).parent.resolve()))
    os.environ |= {"WANDB_MODE": "disabled", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}  # nothing is fetched; what is in a cache is read
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before, path
        os.environ.clear()
        os.environ.update(environment)


def start(asked: Script) -> None:
    if asked.module:
        try:
            runpy.run_module(asked.place, run_name="__main__", alter_sys=True)
        except ModuleNotFoundError as error:
            raise absent(asked.place, error) from error
        return
    try:
        runpy.run_path(asked.place, run_name="__main__")
    except ImportError as error:
        if RELATIVE not in str(error):
            raise
        folder, name = in_package(Path(asked.place))
        with found_from(folder):
            runpy.run_module(name, run_name="__main__", alter_sys=True)


def known(asked: Script) -> str:
    """Libraries that the script seems to use, imported before their functions are replaced. Gives the text that reads its data."""
    text = source(asked)
    for name, libraries in LIBRARIES.items():
        for library in libraries if name in text else ():
            with suppress(Exception):
                importlib.import_module(library)
    own = text.partition(NEXT_FILE)[0]
    return own if "load_dataset" in own else text  # the files beside it may be other scripts


def source(asked: Script) -> str:
    """The script's text, and that of the files beside it that it imports."""
    if asked.module:
        with suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(asked.place)
            return _texts(Path(spec.origin)) if spec is not None and spec.origin else ""
        return ""
    return _texts(Path(asked.place))


def _texts(file: Path) -> str:
    beside = {f.stem: f for f in sorted(file.parent.glob("*.py"))[:MOST_FILES] if f != file}
    texts, ahead = [], [file]
    while ahead:
        with suppress(OSError, UnicodeDecodeError):
            texts.append(ahead.pop(0).read_text(encoding="utf-8"))
            named = {word for line in IMPORTS.findall(texts[-1]) for word in re.findall(r"\w+", line)}
            ahead += [beside.pop(stem) for stem in sorted(named & {*beside})]
    return NEXT_FILE.join(texts)


def stopped(asked: Script, ended: SystemExit) -> str:
    hint = "; give its arguments after --" if ended.code == 2 and not asked.arguments else ""
    return f"{asked.place} ended with exit code {ended.code!r} before its first step{hint or '; the lines above say why'}"


def failed(asked: Script, error: Exception) -> Exception:
    from ironlaw.tracing.capture import broken
    from ironlaw.tracing.source_lines import is_own
    from ironlaw.tracing.target import in_one_line

    said = broken(error)
    words = str(said).replace("the call fails at", f"{asked.place} fails at").replace("fix the model or its arguments", "fix it first")
    frames = traceback.extract_tb(error.__traceback__) if isinstance(said, BadValue) else []
    own = [f for f in frames if is_own(f.filename) and "site-packages" not in f.filename]
    if own:  # what a library was asked for, rather than where it gave up
        words = f"{asked.place} fails at {Path(own[-1].filename).name}:{own[-1].lineno} ({(own[-1].line or '').strip()}): "
        words += f"{type(error).__name__}: {in_one_line(str(error))}; {cure(error)}"
    return type(said)(words)


def cure(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install it where ironlaw is: pip install {error.name.partition('.')[0]}"
    if isinstance(error, ModuleNotFoundError):
        return "install it where ironlaw is"
    if isinstance(error, OSError) and re.search("connection|resolve|offline|urlopen", f"{type(error).__name__} {error}", re.IGNORECASE):
        return "nothing is fetched here: run the script once where there is a network, so that its data lie where it looks for them"
    if isinstance(error, FileNotFoundError):
        return "put a small file of that form there, or name the model: FILE.py:NAME"
    return "fix it first"
