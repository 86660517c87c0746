"""What a change of program gains, predicted beside measured: sealed models (totals alone), held out, open, opened since.

    python benchmarks/gains.py            all tables
    python benchmarks/gains.py --write    those that docs/analyze.md shows, too

Needs nothing but ironlaw; about a minute. Wall times are queued calls on the host that was measured with a set.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sealed

import ironlaw as il
from ironlaw.calibration import stored_curves
from ironlaw.systems.accuracy.measured_gains import APART, HELD, TURNS, TimedRun, measured_gains, pairs, summaries
from ironlaw.tracing.graph_json import from_json

MODES = ("eager", "compiled")
OPENED, SEALED = "opened", "sealed"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "analyze.md"
BEGIN, END = "<!-- gains: python benchmarks/gains.py --write -->", "<!-- end of gains -->"


def timed_runs(title):
    """The runs of models that are sealed, or of all others, in every set."""
    for file in sorted(sealed.SETS.glob("seed-*.graphs.json.xz")):
        seed = int(file.name.removeprefix("seed-").partition(".")[0])
        kept, graphs = sealed.load(seed), sealed.stored(seed)
        hosts = [stored_curves.host(each) for each in kept.get("hosts", [])]
        wanted = {name for part, names in sealed.parts(kept).items() for name in names if (part == sealed.SEALED) == (title == SEALED)}
        memo = {}
        for row in kept["rows"]:
            key = sealed.key_of(row)
            if row["model"] not in wanted or "busy_s" not in row or row["mode"] not in MODES or "error" in graphs.get(key, {"error": ""}):
                continue
            if key not in memo:
                memo[key] = from_json(graphs[key])
            host = hosts[row["host"]] if "host" in row else None
            name = f"{row['library']} {row['model']}"
            yield TimedRun(name, row["mode"], row["dtype"], row["batch"], "", memo[key], row["piped_s"], row["busy_s"], host)


def gains_of(title):
    return list(pairs(timed_runs(title), il.hardware(sealed.MACHINE)))


def table(title, gains):
    lines = [title, f"{'change':14}{'pairs':>6}{'wall':>8}{'device':>8}{'inside':>12}{'sign':>12}{'sign, offered':>16}"]
    for s in summaries(gains):
        device = f"{s.device:.1%}" if s.device is not None else "–"
        counts = f"{s.inside:6} of {s.count:3}{s.right:6} of {s.count:3}{s.right_offered:10} of {s.offered:3}"
        lines.append(f"{s.change:14}{s.count:6}{s.mean:8.1%}{device:>8}{counts}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into docs/analyze.md, too")
    args = parser.parse_args()
    tables = [
        table("sealed", gains_of(SEALED)),
        table("language models, runs by turns, never fitted to", measured_gains(sealed.MACHINE, (HELD,))),
        table("open evidence, runs by turns", measured_gains(sealed.MACHINE, (TURNS,))),
        table("open evidence, runs one after another", measured_gains(sealed.MACHINE, (APART,))),
        table("drawn by seed and opened since", gains_of(OPENED)),
    ]
    text = "\n\n".join(tables)
    print(text)
    if args.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n```\n{text}\n```\n{END}{after}")


if __name__ == "__main__":
    main()
