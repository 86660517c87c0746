"""Predictions in a browser's Python beside those of this one, over the registry: every workload on every machine, eager and compiled.

    python benchmarks/site_figures.py [--every 1] [--runtime FILE]

Pyodide runs with the archive that the site ships, in the Node that Playwright brings. Figures may differ in the last digits of a logarithm,
which the two take from different libraries of mathematics; anything more is a fault, and exit status 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright._impl._driver import compute_driver_executable

from ironlaw.site import bundle, runtime

TOLERANCE = 1e-12
FIGURES = """
import json
import ironlaw as il

def predicted(name, hardware, mode):
    try:
        p = il.predict(il.workload(name), hardware, il.Plan(mode=mode))
    except il.IronlawError as error:
        return str(error)
    return [float(part) for part in (p.seconds, p.data_s, p.compute_s, p.overhead_s, p.kernels)]

def figures(every):
    pairs = [(name, machine) for machine in il.machines() for name in il.workloads()]
    return json.dumps({
        f"{name} on {machine}, {mode}": predicted(name, il.hardware(machine), mode)
        for at, (name, machine) in enumerate(pairs) for mode in ("eager", "compiled") if (at + (mode == "compiled")) % every == 0
    })
"""
IN_NODE = """
import { readFileSync } from "node:fs";
const { loadPyodide } = await import(process.argv[2] + "/pyodide.mjs");
const { unpack, unzipped } = await import(process.argv[2] + "/packed.mjs");
const python = await loadPyodide({ indexURL: process.argv[2] });
unpack(python.FS, "/home/pyodide", await unzipped(new Uint8Array(readFileSync(process.argv[2] + "/ironlaw.pack")).buffer));
python.runPython('import sys; sys.path.insert(0, "/home/pyodide")');
process.stdout.write(python.runPython(readFileSync(0, "utf-8")));
"""
Figures = dict[str, "list[float] | str"]


def here(every: int) -> Figures:
    names: dict[str, object] = {}
    exec(FIGURES, names)
    found: Figures = json.loads(names["figures"](every))  # type: ignore[operator]
    return found


def in_browser(every: int, given: Path | None) -> Figures:
    with tempfile.TemporaryDirectory() as place:
        for name, data in runtime.files(given).items():
            (Path(place) / name).write_bytes(data)
        (Path(place) / bundle.NAME).write_bytes(bundle.archive())
        shutil.copy(Path(bundle.__file__).parent / "js" / "packed.js", Path(place) / "packed.mjs")
        program = Path(place) / "run.mjs"
        program.write_text(IN_NODE, "utf-8")
        node = str(compute_driver_executable()[0])
        text = f"{FIGURES}\nfigures({every})"
        done = subprocess.run([node, str(program), place], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Figures = json.loads(done.stdout)
    return found


def different(ours: Figures, theirs: Figures) -> list[str]:
    """What is predicted by one alone, or otherwise by more than the last digits."""
    return sorted(ours.keys() ^ theirs.keys()) + [name for name in ours.keys() & theirs.keys() if not _same(ours[name], theirs[name])]


def _same(a: list[float] | str, b: list[float] | str) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return all(abs(x - y) <= TOLERANCE * max(abs(x), abs(y)) for x, y in zip(a, b, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th pair alone (1)")
    parser.add_argument("--runtime", type=Path, metavar="FILE", help="Pyodide as npm packs it, for a machine that can't download it")
    args = parser.parse_args()
    ours, theirs = here(args.every), in_browser(args.every, args.runtime)
    apart = different(ours, theirs)
    refused = sum(isinstance(one, str) for one in ours.values())
    print(f"{len(ours):,} predictions, {refused} of them refused alike; different: {len(apart)}")
    for name in apart[:20]:
        print(f"    {name}: {ours.get(name)} here, {theirs.get(name)} in a browser")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
