"""Write docs/cli.md from the commands' own help, so that the two can't differ.

python scripts/docs.py            write it
python scripts/docs.py --check    exit 1 if it is out of date
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cli.md"
INTRO = """# The command line

Written by `scripts/docs.py` from the commands' help; change that, then run it again.

Names of machines and models are matched loosely (`h100`, `H100-SXM`), sizes may have units (`"51 MB"`, `"10 us"`), and `--json`
prints only JSON, in SI units; a figure that does not exist is `null`, and `"never"` means that compiling never pays.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | a validation failed, or a file could not be written |
| 2 | bad input; one paragraph on stderr names the value, the place and what to do |
| 70 | an internal error; `IRONLAW_DEBUG=1` shows the traceback |
| 130 | Ctrl-C |
| 141 | the output's pipe was closed (`… \\| head`) |

| variable | meaning |
|---|---|
| `IRONLAW_HOME` | where your own data is kept (ledger, measurements); default: the platform's data folder |
| `IRONLAW_LEDGER` | another ledger than the file there: a path, or `postgresql://…` |
| `NO_COLOR` | no colours; there are none in a pipe anyway |
| `COLUMNS` | the width to draw for |
| `IRONLAW_DEBUG` | show the traceback of an unexpected error |
"""


def page() -> str:
    """The page's text. The width is fixed, so that it is the same on every terminal."""
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    sys.path.insert(0, str(ROOT / "src"))
    from ironlaw.cli import COMMANDS, parser

    parts = [INTRO, f"## ironlaw\n\n{_block(parser().format_help())}"]
    parts += [f"## ironlaw {name}\n\n{_block(parser(name).format_help())}" for name in COMMANDS]
    return "\n".join(parts)


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


def main(arguments: list[str]) -> int:
    text = page()
    if arguments == ["--check"]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is out of date; run: python scripts/docs.py", file=sys.stderr)
        return 1
    if arguments:
        print(f"unknown argument {arguments[0]!r}; there is only --check", file=sys.stderr)
        return 2
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
