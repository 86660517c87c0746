"""Run commands at the same time: what the first writes is seen as it comes, what the others write when they have ended.

    python scripts/side_by_side.py 'pytest -n 2 tests/a' 'mypy'

Exit status 1 if any of them failed. One core is seldom idle then: a type checker has one thread, pip waits for the disk.
"""

import subprocess
import sys
import tempfile
from contextlib import ExitStack


def main(commands: list[str]) -> int:
    with ExitStack() as files:
        others = []
        for command in commands[1:]:
            output = files.enter_context(tempfile.TemporaryFile())
            others.append((command, output, subprocess.Popen(command, shell=True, stdout=output, stderr=subprocess.STDOUT)))
        try:
            failed = [command for command in commands[:1] if subprocess.call(command, shell=True) != 0]
            for command, output, process in others:
                if process.wait() != 0:
                    failed.append(command)
                output.seek(0)
                print(f"$ {command}\n{output.read().decode(errors='replace')}", end="")
        except KeyboardInterrupt:  # the others have heard it too
            for _, _, process in others:
                process.wait()
            return 130
    for command in failed:
        print(f"failed: {command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
