"""Runs a command beside a private PostgreSQL server, and stops the server whatever happens.

    .venv/bin/python scripts/private_postgres.py BIN COMMAND ...

BIN is the folder of initdb and pg_ctl (`scripts/setup.py postgres` prints it). The server lives in a temporary folder,
listens on a socket there and on no port; the command finds its address in IRONLAW_TEST_POSTGRES.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote


def server_user() -> str | None:
    """PostgreSQL refuses to run as root: then it runs as postgres, or as nobody where there is no such user."""
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in users else "nobody"


def may_run(program: Path, user: str) -> bool:
    try:
        return subprocess.run([program, "--version"], user=user, cwd="/", capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main(programs: Path, command: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    user = server_user()
    if user and not may_run(programs / "initdb", user):
        print(f"PostgreSQL does not run as root, and user {user} may not run {programs}/initdb.", file=sys.stderr)
        print("Install PostgreSQL for the whole system, or run make test as an ordinary user.", file=sys.stderr)
        return 1
    # A short name under the system's folder: a socket's path may have about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="ironlaw-pg-"))

    def postgres(program: str, *arguments: str) -> int:
        log = folder / "setup.log"
        with log.open("wb") as out:
            code = subprocess.run([programs / program, *arguments], user=user, cwd=folder, stdout=out, stderr=out, check=False).returncode
        if code:
            print(f"{program} failed:", *log.read_text().splitlines()[-10:], sep="\n", file=sys.stderr)
        return code

    try:
        if user:
            shutil.chown(folder, user)
        data = str(folder / "data")
        options = f"-k '{folder}' -c listen_addresses='' -c fsync=off"
        if postgres("initdb", "-D", data, "-A", "trust", "-U", "ironlaw", "-E", "UTF8", "--no-locale", "--no-sync"):
            return 1
        if postgres("pg_ctl", "-w", "-D", data, "-l", f"{folder}/server.log", "-o", options, "start"):
            print((folder / "server.log").read_text()[-2000:], file=sys.stderr)
            return 1
        try:
            url = f"postgresql://ironlaw@/postgres?host={quote(str(folder), safe='')}"
            return subprocess.run(command, env={**os.environ, "IRONLAW_TEST_POSTGRES": url}, check=False).returncode
        finally:
            postgres("pg_ctl", "-w", "-D", data, "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
