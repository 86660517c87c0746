"""`ironlaw measure --loader my.py:loader`: how many samples per second an input pipeline gives on this machine, without a model."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ironlaw import worker
from ironlaw.cli.show import draw
from ironlaw.errors import BadValue
from ironlaw.units import show, significant
from ironlaw.worker.json_values import Json, decode, encode

if TYPE_CHECKING:
    from ironlaw.outputs.measurement_output import MeasureLoaderJson

SECONDS = 5.0  # of reading, after the first batch
LONGEST_S = 600.0  # beyond that, to start
OTHERS = ("short", "full", "host", "part", "out", "device", "target", "trace")


def run(args: argparse.Namespace) -> int:
    for name in OTHERS:
        if getattr(args, name):
            what = args.target if name == "target" else f"--{name}"
            raise BadValue(f"--loader reads batches, and measures nothing else; leave out {what}, or --loader")
    file, _, name = args.loader.rpartition(":")
    if not file or not name:
        raise BadValue(f"{args.loader} does not say which loader; give the file and the name in it, such as train.py:loader")
    request = {"file": file, "name": name, "seconds": args.seconds or SECONDS}
    limit = args.limit or LONGEST_S + request["seconds"]
    seen: Any = decode(worker.run("ironlaw.cli.measure_loader:job", encode(request), name=file, limit_s=limit))
    told: MeasureLoaderJson = {
        "loader": args.loader, "rate": seen["rate"], "batch": seen["batch"], "batches": seen["batches"], "first_s": seen["first_s"],
    }  # fmt: skip
    draw.emit(told, "ironlaw-measure-loader/1") if args.json else report(told)
    return 0


def report(told: MeasureLoaderJson) -> None:
    draw.heading(told["loader"], f"{told['batches']:,} batches of {told['batch']:,}")
    draw.say(f"{significant(told['rate'])} samples per second; the first batch came after {show(told['first_s'], 's')}.", draw.STRONG)
    rate = significant(told["rate"]).replace(",", "")
    draw.say(f"Next: ironlaw analyze TARGET --on HW --loader {rate}/s says whether that starves the GPU")


def job(encoded: Json, send: Callable[[Json], None]) -> Json:
    """Runs in a process of its own and reads the loader as a training loop would."""
    from ironlaw.tracing.user_modules import names_of

    request: Any = decode(encoded)
    names = names_of(request["file"], "cpu")
    if request["name"] not in names:
        raise BadValue(f"{request['file']} has no {request['name']}; it has {', '.join(n for n in names if not n.startswith('_'))}")
    found = names[request["name"]]
    return encode(measured(found() if callable(found) and not hasattr(found, "__iter__") else found, request["seconds"]))


def measured(loader: Iterable[Any], seconds: float) -> dict[str, Any]:
    """Samples per second after the first batch, which waits for workers to start; a loader that ends is read again."""
    begun = perf_counter()
    batches, samples, first, since = 0, 0, 0.0, 0.0
    while True:
        before = batches
        for batch in loader:
            now = perf_counter()
            batches += 1
            if batches == 1:
                first, since = now - begun, now
                continue
            samples += size(batch)
            if now - since >= seconds:
                return {"rate": samples / (now - since), "batch": size(batch), "batches": batches, "first_s": first}
        if batches == before:
            raise BadValue("the loader gives no batch; check what it reads")


def size(batch: Any) -> int:
    """Samples in a batch: as many as its first column has, or as there are things in a list of no columns."""
    if isinstance(batch, (list, tuple)):
        columns = [one for one in batch if getattr(one, "shape", None) or isinstance(one, (Mapping, list, tuple))]
        return _rows(columns[0] if columns else batch)
    return _rows(batch)


def _rows(column: Any) -> int:
    if getattr(column, "shape", None):
        return int(column.shape[0])
    if isinstance(column, Mapping):
        return next((_rows(one) for one in column.values()), 1)
    return len(column) if isinstance(column, (list, tuple)) else 1
