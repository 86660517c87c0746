"""Run commands at the same time: what the first writes is seen as it comes, what the others write when they have ended.

    python scripts/side_by_side.py 'pytest -n 2 tests/a' 'mypy'
    python scripts/side_by_side.py --at-once 3 'pytest tests/a' 'pytest tests/b' 'pytest tests/c' 'pytest tests/d'

Exit status 1 if any of them failed. One core is seldom idle then: a type checker has one thread, a browser waits for a server.
The others take what the first leaves, so that what would end last is named first, and begins with a core of its own. With a limit, the
next command begins when one has ended: first what takes long, last what is short.
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed


def run(command: str, live: bool) -> tuple[str, int, str]:
    """The command, its exit status, and what it wrote unless that was seen already."""
    shell = ["sh", "-c", command] if live else ["nice", "-n", "5", "sh", "-c", command]
    done = subprocess.run(shell, stdout=None if live else subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return command, done.returncode, "" if live else done.stdout.decode(errors="replace")


def main(commands: list[str], at_once: int) -> int:
    with ThreadPoolExecutor(at_once) as pool:
        first, *others = [pool.submit(run, command, place == 0) for place, command in enumerate(commands)]
        try:
            first.result()
            for one in as_completed(others):
                command, _, output = one.result()
                print(f"$ {command}\n{output}", end="", flush=True)
        except KeyboardInterrupt:  # the commands have heard it too
            pool.shutdown(cancel_futures=True)
            return 130
    failed = [command for command, code, _ in (one.result() for one in (first, *others)) if code != 0]
    for command in failed:
        print(f"failed: {command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--at-once", type=int, metavar="N", help="how many run at a time (all)")
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    sys.exit(main(options.commands, options.at_once or len(options.commands)))
