"""Write docs/cli.md and what shells complete from the commands' own help, docs/labs.md from the labs, docs/glossary.md, docs/transfer.md
and the last table of docs/errata.md from the registry, so that they can't differ.

python scripts/docs.py            write them
python scripts/docs.py --check    exit 1 if one is out of date
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INTRO = """# The command line

<!-- Written by `scripts/docs.py` from the commands' help; change that, then run it again. -->

Names of machines and models are matched loosely (`h100`, `H100-SXM`), sizes may have units (`"51 MB"`, `"10 us"`), and `--json`
prints only JSON, in SI units; a figure that does not exist is `null`, and `"never"` means that compiling never pays.
It names its `schema` and the schema's version ([the JSON](gate.md#the-json)); an error is an object, too, and its words also go to stderr.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | a validation or a gate failed, no machine meets the SLO (`capacity`), or a file could not be written |
| 2 | bad input; one paragraph on stderr names the value, the place and what to do |
| 70 | an internal error; `IRONLAW_DEBUG=1` shows the traceback |
| 130 | Ctrl-C |
| 141 | the output's pipe was closed, as `head` does |

| variable | meaning |
|---|---|
| `IRONLAW_HOME` | where your own data is kept (ledger, measurements); default: the platform's data folder |
| `IRONLAW_LEDGER` | another ledger than the file there: a path, or `postgresql://…` |
| `NO_COLOR` | no colours; there are none in a pipe anyway |
| `COLUMNS` | the width to draw for |
| `IRONLAW_DEBUG` | show the traceback of an unexpected error |
"""

GLOSSARY = """# Glossary

<!-- Written by `scripts/docs.py` from `src/ironlaw/registry/glossary.toml`; change that, then run it again. -->

Figures are computed from the registry; their sources are on the labs' page `/glossary`.
"""

TRANSFER = """# Machines that nobody measured

<!-- Written by `scripts/docs.py` from `src/ironlaw/registry/transfer/constants.json`; run `benchmarks/transfer.py`, then that script. -->

These tables say how far off a prediction is on a machine that nobody measured. Each machine was left out in turn: constants were fitted to
the rows of the others, and its own rows were then predicted. *Two figures* is the same test when the machine's own bandwidth and rate of
matrix products are known, for example from `ironlaw measure --short` (– where they do not help). *Fitted* includes its rows in the fit.
Errors are means of |predicted / measured − 1| over single kernels, not whole models. [The physics](physics.md) describes each law.
"""

LABS = """# The labs

<!-- Written by `scripts/docs.py` from the labs' own words; change those, then run it again. -->

`make labs` opens them. Each takes 30 to 45 minutes, and each stands alone. Their numbers follow the chapters of the book that they belong
to, which is why some are missing. Volume 1 is about one machine, Volume 2 (V2) about many.

| lab | | what it teaches |
|---|---|---|
"""

ERRATA = """## Claims of the drafts

<!-- Written by `scripts/docs.py` from the claims whose source is a draft (`src/ironlaw/claims/`); change those, then run it again. -->

The drafts of the labs said these things, and the labs no longer do. Beside each is what is computed or measured today.
`ironlaw claims ID` says why.

| written | claimed | today | verdict | |
|---|---|---|---|---|
"""


def commands() -> str:
    """docs/cli.md. The width is fixed, so that it is the same on every terminal."""
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    from ironlaw.cli import COMMANDS, parser

    parts = [INTRO, f"## ironlaw\n\n{_block(parser().format_help())}"]
    parts += [f"## ironlaw {name}\n\n{_block(parser(name).format_help())}" for name in COMMANDS]
    return "\n".join(parts)


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


def glossary() -> str:
    """docs/glossary.md."""
    from ironlaw.claims.glossary import GROUPS, terms

    parts = [GLOSSARY]
    for group, heading in GROUPS.items():
        parts.append(f"## {heading}\n\n| term | | figure |\n|---|---|---|")
        listed = [term for term in terms().values() if term.group == group]
        parts += [f"| **{term.name}** | {term.says} | {term.figure.label}: {term.figure.value} |" for term in listed]
        parts.append("")
    return "\n".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def transfer() -> str:
    """docs/transfer.md."""
    import json

    from ironlaw.registry.loader import folder
    from ironlaw.registry.machines import hardware

    summary = json.loads((folder("transfer") / "constants.json").read_text())
    parts = [TRANSFER]
    for name, family in summary["families"].items():
        parts.append(f"## {name.replace('_', ' ')}\n\n| machine | rows | left out | two figures | fitted |\n|---|---:|---:|---:|---:|")
        seen = family["two_figures"]["left_out"]
        for slug, one in family["left_out"].items():
            known = _percent(seen[slug]["error"]) if slug in seen else "–"
            cells = (f"{one['rows']:,}", _percent(one["error"]), known, _percent(family["fitted"][slug]))
            parts.append(f"| {hardware(slug).name} | {' | '.join(cells)} |")
        parts.append(f"| all | {family['all']['rows']:,} | {_percent(family['all']['error'])} | | |\n")
    sources = "\n".join(f"- {text}" for text in summary["sources"].values())
    return "\n".join([*parts, f"## Sources\n\n{sources}\n\nRows of the H200 in FP32, and its streams, are the project's own.\n"])


def labs() -> str:
    """docs/labs.md."""
    from ironlaw.kit.lab import LABS as FOLDER
    from ironlaw.kit.lab_words import load
    from ironlaw.lab_names import name, order

    rows = []
    for place in sorted(FOLDER.glob("lab_*/words.md"), key=lambda place: order(place.parent.name)):
        words = load(place)
        rows.append(f"| {name(place.parent.name)} | **{words.raw('title')}** | {words.raw('teaches')} |")
    return LABS + "\n".join(rows) + "\n"


def errata() -> str:
    """docs/errata.md: what people wrote, and the table of the drafts' claims at its end."""
    from ironlaw.claims import claims
    from ironlaw.claims.words import shown

    written = (ROOT / "docs/errata.md").read_text(encoding="utf-8").partition(ERRATA.partition("\n")[0])[0]
    rows = []
    for one in claims().values():
        if one.is_of_a_draft and one.verdict != "holds":
            read = one.measured if one.is_measured else None
            today = shown(read.value, read.unit) + ", measured" if read else one.model
            rows.append(
                f"| {one.says.replace('|', chr(92) + '|')} | {one.claimed} | {today.replace('-', '−')} | {one.verdict} | `{one.id}` |"
            )
    return written + ERRATA + "\n".join(rows) + "\n"


def grammar() -> str:
    """What a shell completes commands by."""
    from ironlaw.cli.grammar import text

    return text()


PAGES = {
    "docs/cli.md": commands, "docs/labs.md": labs, "docs/glossary.md": glossary, "docs/transfer.md": transfer, "docs/errata.md": errata,
    "src/ironlaw/cli/grammar.json": grammar,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"unknown argument {arguments[0]!r}; there is only --check", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "src"))
    late = 0
    for name, write in PAGES.items():
        place, text = ROOT / name, write()
        if not arguments:
            place.write_text(text, encoding="utf-8")
        elif not place.exists() or place.read_text(encoding="utf-8") != text:
            print(f"{place.relative_to(ROOT)} is out of date; run: python scripts/docs.py", file=sys.stderr)
            late = 1
    return late


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
