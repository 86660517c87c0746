"""A class on one server: many learners, each with a lab's page open, who commit, turn a dial twice a second and save.

    python benchmarks/load.py [--learners 50] [--minutes 10] [--steps 4 8 …] [--servers 1] [--ledger URL] [--slow 0] [--labs SLUG …]

Servers are `ironlaw labs` as shipped, in processes of their own; this process is the learners. A learner asks for the page, opens its two
sockets and does what the page's own scripts do: each turn asks for the picture while the dial moves and for the place where it may go next,
and, once the dial has rested, tells the lab where it stands. Dial to picture is from a question's last byte to the answer's. Beside the
clock stands the processor time of the servers, since on a busy machine the clock counts others' work too. Everything that was acknowledged
is looked for in the ledger afterwards. `--slow` learners read nothing of what they are sent; with `--by-turns` they come and go every ten
seconds, and the others' times with and without them stand side by side, so that a busy machine weighs on both alike. Loopback only.

With `--steps`, that many learners come first, each number for ten seconds, and the p95 of each step says how many one server carries within
200 ms; the rest arrive afterwards, and the other figures are those of all together.

A server has one ledger and one person: its learners share it, so each commits another attempt, as "Try again" does. The ledger begins with
every lab finished, which makes the pages as long as they get. `--ledger` is a PostgreSQL database that may be written to.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from websockets.asyncio.client import ClientConnection, connect

from ironlaw.kit import lab as labs
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger, open_ledger
from ironlaw.pages.lab_catalogue import catalogue
from ironlaw.server.door import Door, cookie_name
from ironlaw.server.secret import VARIABLE

MOST_LEARNERS, MOST_MINUTES, MOST_SERVERS = 1000, 60, 8
TURN_S, REST_S, SAVE_S = 0.5, 0.3, 60.0  # between two turns; until a dial rests; between two saves
OPENED_S = 180.0  # for a page to open
ANSWER_S = 60.0  # for an answer, before it counts as a hang
RAMP_S = 20.0  # over which learners arrive
WARM_S = 120.0  # until a server has its labs ready
TOKEN = "a-token-for-the-load"
GOAL_MS = 200.0
STEP_S, COMING_S = 10.0, 3.0  # how long a step lasts; how much of it is for pages to open


@dataclass
class Seen:
    """What all learners saw."""

    opening: list[float] = field(default_factory=list)  # s, from the page's request to its cells
    dials: list[float] = field(default_factory=list)  # s, from a turn to its picture
    ends: list[float] = field(default_factory=list)  # when each of those pictures was there
    rests: list[float] = field(default_factory=list)  # s, from a dial at rest to the page's answer
    writes: list[float] = field(default_factory=list)  # s, for a commit or a save
    kept: Counter[tuple[str, str]] = field(default_factory=Counter)  # lab and kind of event -> how many were acknowledged
    errors: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # in words, as a page would show them
    skipped: int = 0  # places that were asked for in advance, and not computed since others waited


class Server:
    """`ironlaw labs`, and what it uses."""

    def __init__(self, home: Path, ledger: str, options: list[str]) -> None:
        environment = {**os.environ, "IRONLAW_HOME": str(home), VARIABLE: TOKEN, "PYTHONUNBUFFERED": "1"}
        environment |= {"IRONLAW_LEDGER": ledger} if ledger else {}
        command = [sys.executable, "-m", "ironlaw", "labs", "--no-browser", "--port", "0", *options]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout
        line = ""
        while not (match := re.search(r"http://127\.0\.0\.1:(\d+)", line)):
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"the server ended before it was ready: {' '.join(command)}")
        self.url, self.port = match[0], int(match[1])
        self.log = Path(home) / f"server-{self.port}.log"
        self.reader = subprocess.Popen(["cat"], stdin=self.process.stdout, stdout=self.log.open("w"))  # or its pipe would fill
        scope = {"server": ("127.0.0.1", self.port)}
        self.cookie = f"{cookie_name(scope)}={Door(TOKEN).cookie(scope)}"
        self.one = psutil.Process(self.process.pid)

    def get(self, path: str) -> bytes:
        request = urllib.request.Request(self.url + path, headers={"Cookie": self.cookie})
        with urllib.request.urlopen(request, timeout=OPENED_S) as response:
            return bytes(response.read())

    def processes(self) -> list[psutil.Process]:
        return [self.one, *self.one.children(recursive=True)]

    def cpu(self) -> float:
        """Processor seconds so far, its workers' too."""
        with suppress(psutil.Error):
            return sum(sum(process.cpu_times()[:2]) for process in self.processes())
        return 0.0

    def held(self) -> dict[str, float]:
        with suppress(psutil.Error):
            every = self.processes()
            return {
                "MiB": sum(process.memory_info().rss for process in every) / 2**20,
                "descriptors": sum(process.num_fds() for process in every),
                "threads": sum(process.num_threads() for process in every),
            }
        return {"MiB": 0, "descriptors": 0, "threads": 0}

    def is_idle(self) -> bool:
        before = self.cpu()
        time.sleep(2)
        return self.cpu() - before < 0.2

    def stop(self) -> str:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.reader.wait(10)
        return self.log.read_text()


class Learner:
    """One page, as its scripts would use its sockets."""

    def __init__(self, number: int, server: Server, slug: str, seen: Seen) -> None:
        self.number, self.server, self.slug, self.seen = number, server, slug, seen
        self.pieces: dict[str, dict[str, Any]] = {}
        self.seq = itertools.count(1)

    async def ask(self, line: ClientConnection, message: dict[str, Any]) -> tuple[str, float]:
        """The answer, and how long it took."""
        began = time.perf_counter()
        await line.send(json.dumps(message, separators=(",", ":")))  # as a page writes it
        answer = await asyncio.wait_for(line.recv(), ANSWER_S)
        return str(answer), time.perf_counter() - began

    def link(self, path: str) -> Any:
        address = self.server.url.replace("http", "ws", 1) + path
        origin: Any = self.server.url
        headers = {"Cookie": self.server.cookie}
        return connect(address, origin=origin, additional_headers=headers, max_size=None, compression=None, open_timeout=OPENED_S,
                       ping_interval=None)  # fmt: skip

    async def live(self, arrives: float, until: float) -> None:
        await asyncio.sleep(arrives)
        began = time.perf_counter()
        try:
            await asyncio.to_thread(self.server.get, f"/lab/{self.slug}/")
            async with self.link(f"/lab/{self.slug}/ws") as page, self.link("/direct") as short:
                shown = json.loads(await asyncio.wait_for(page.recv(), OPENED_S))
                if "error" in shown:
                    self.seen.refused[shown["error"]] += 1
                    return
                self.seen.opening.append(time.perf_counter() - began)
                self.pieces = shown["pieces"]
                await self.work(page, short, until)
        except Exception as error:  # whatever a page would have met
            self.seen.errors[f"{type(error).__name__}: {error}"[:160]] += 1

    async def work(self, page: ClientConnection, short: ClientConnection, until: float) -> None:
        await self.commit(page)
        saved, turns = time.monotonic(), self.turns()
        begins = time.monotonic() + TURN_S * (self.number % 50) / 50
        while time.monotonic() < until:
            await asyncio.sleep(max(0.0, begins - time.monotonic()))
            begins = max(begins + TURN_S, time.monotonic())
            name, dials, ahead = next(turns)
            await self.turn(page, short, name, dials, ahead)
            if time.monotonic() - saved > SAVE_S * (0.75 + (self.number % 7) / 14):
                saved = time.monotonic()
                await self.save(page)
        await self.save(page)

    def turns(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Instrument, its dials, and where they may go next: along one dial and back, then along the next."""
        open_ones = [
            (name, piece) for name, piece in self.pieces.items() if piece["kind"] == "instrument" and not piece["spec"].get("locked")
        ]
        ways = []
        for name, piece in open_ones:
            dials = {dial["id"]: dial["value"] for dial in piece["spec"]["dials"]}
            for dial in piece["spec"]["dials"]:
                if stops := list(places(dial)):
                    ways.append((name, dials, dial["id"], stops))
        for name, dials, moved, stops in itertools.cycle(ways[self.number % len(ways) :] + ways[: self.number % len(ways)]):
            for here, following in itertools.pairwise([*stops, *stops[::-1]]):
                yield name, {**dials, moved: here}, {**dials, moved: following}

    async def turn(self, page: ClientConnection, short: ClientConnection, name: str, dials: dict[str, Any], ahead: dict[str, Any]) -> None:
        state = {**self.pieces[name]["state"], "dials": dials}
        token = self.pieces[name]["spec"].get("direct")
        number = next(self.seq)
        if token:
            answer, seconds = await self.ask(short, {"piece": token, "state": {**state, "moving": True, "seq": number}})
            self.count(answer, self.seen.dials, seconds)
            answer, _ = await self.ask(short, {"piece": token, "state": {**state, "dials": ahead, "ahead": True, "seq": number}})
            self.seen.skipped += '"skipped"' in answer
            self.count(answer, [], 0.0)
            await asyncio.sleep(REST_S)
        answer, seconds = await self.ask(page, {"piece": name, "state": {**state, "seq": next(self.seq)}})
        self.count(answer, self.seen.rests if token else self.seen.dials, seconds)
        self.refresh(answer)

    def count(self, answer: str, times: list[float], seconds: float) -> None:
        if answer.startswith('{"error"'):
            self.seen.errors[answer[:160]] += 1
        else:
            times.append(seconds)
            if times is self.seen.dials:
                self.seen.ends.append(time.monotonic())

    def refresh(self, answer: str) -> None:
        """What is new about the pieces: one that a cell shows anew has another name."""
        if '"new":{}' in answer and '"spec"' not in answer:
            return
        changes = json.loads(answer)
        for name, traits in {**changes.get("pieces", {}), **changes.get("new", {})}.items():
            self.pieces[name] = {**self.pieces.get(name, {}), **traits}

    def of_kind(self, kind: str) -> str:
        return next(name for name, piece in self.pieces.items() if piece["kind"] == kind)

    async def commit(self, page: ClientConnection) -> None:
        """Another attempt at the first question. Where somebody else commits the same attempt, the page says so, and one tries again."""
        state: dict[str, Any] = {"choice": 0, "confidence": 3, "commit": 0, "again": 0, "estimate": None, "sketch": None}
        for count in range(1, 20):
            name = self.of_kind("lock")
            state |= {"commit": count, "again": count, "seq": next(self.seq)}
            answer, seconds = await self.ask(page, {"piece": name, "state": {**self.pieces[name]["state"], **state}})
            self.seen.writes.append(seconds)
            changes = json.loads(answer)
            view = changes.get("pieces", {}).get(name, {}).get("view", {})
            self.refresh(answer)
            if not view.get("error") and "error" not in changes:
                self.seen.kept[self.slug, "prediction"] += 1
                return
            self.seen.refused[str(view.get("error") or changes["error"])[:120]] += 1

    async def save(self, page: ClientConnection) -> None:
        name = self.of_kind("save")
        acts = self.pieces[name].setdefault("acts", itertools.count(1))
        answer, seconds = await self.ask(page, {"piece": name, "state": {"act": next(acts), "seq": next(self.seq)}})
        self.seen.writes.append(seconds)
        view = json.loads(answer).get("pieces", {}).get(name, {}).get("view", {})
        if view.get("saved") and not view.get("error"):
            self.seen.kept[self.slug, "design"] += 1
        else:
            self.seen.errors[f"not saved: {answer[:120]}"] += 1
        self.refresh(answer)


def places(dial: dict[str, Any]) -> Iterator[Any]:
    """Where a dial is put, one after the other; a dozen at most."""
    if dial.get("hidden"):
        return
    if dial["type"] in ("range", "log"):
        low, high, step = dial["min"], dial["max"], dial.get("step") or 1
        for part in range(12):
            share = part / 11
            raw = low * (high / low) ** share if dial["type"] == "log" and low > 0 else low + (high - low) * share
            yield round(low + round((raw - low) / step) * step, 9)
    elif dial["type"] in ("choice", "select"):
        yield from [option["value"] for option in dial.get("options", ()) if not option.get("disabled")]


async def deaf(server: Server, slug: str, until: float) -> None:
    """A learner whose machine reads nothing: it asks on and on, and takes no answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lines = f"GET /lab/{slug}/ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\nCookie: {server.cookie}\r\n"
    lines += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    writer.write(lines.encode())
    await reader.readuntil(b"\r\n\r\n")
    raw_transport: Any = writer.transport
    raw_transport.pause_reading()
    body = json.dumps({"piece": "p4", "state": {"dials": {}, "seq": 1}}).encode()
    frame = bytes([0x81, 0x80 | len(body), 0, 0, 0, 0]) + body  # masked with zeros
    with suppress(OSError):
        while time.monotonic() < until and not raw_transport.is_closing():
            if not raw_transport.get_write_buffer_size():
                writer.write(frame)
            await asyncio.sleep(0.1)
    writer.close()


async def visits(server: Server, slug: str, first: float, until: float, by_turns: bool) -> None:
    """The whole time, or in every second turn."""
    if not by_turns:
        return await deaf(server, slug, until)
    for turn in itertools.count(1, 2):
        begins = first + STEP_S * turn
        if begins >= until:
            return None
        await asyncio.sleep(max(0.0, begins - time.monotonic()))
        await deaf(server, slug, min(until, begins + STEP_S))


def beside(seen: Seen, first: float) -> str:
    """The others' times in turns without and with the slow ones. The first second of a turn belongs to neither: it has answers of both."""
    sides: tuple[list[float], list[float]] = [], []
    for took, end in zip(seen.dials, seen.ends, strict=True):
        turn, into = divmod(end - first, STEP_S)
        if turn >= 0 and into > 1:
            sides[int(turn) % 2].append(took)
    lines = []
    for name, part in (("p50", 0.5), ("p95", 0.95)):
        alone, with_slow = (1e3 * share(side, part) for side in sides)
        lines.append(f"dial {name}: {alone:.1f} ms without slow learners, {with_slow:.1f} ms with them: {with_slow / alone:.2f} times")
    return "\n".join([*lines, f"{len(sides[0]):,} and {len(sides[1]):,} turns of a dial"])


def seed(ledger: Ledger, slugs: list[str]) -> dict[tuple[str, str], int]:
    """Every lab answered; how many events of each kind that makes."""
    for slug in slugs:
        complete(labs.open(slug, ledger))
    return counts(ledger)


def counts(ledger: Ledger) -> dict[tuple[str, str], int]:
    return Counter((event.lab, event.kind) for event in ledger.history() if event.kind in ("prediction", "design"))


def share(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")


def _end(server: Server, logs: list[str]) -> None:
    logs.append(server.stop())


@contextmanager
def running(home: Path, ledger: str, count: int, options: list[str]) -> Iterator[tuple[list[Server], list[str]]]:
    logs: list[str] = []
    with ExitStack() as stack:
        servers = [Server(home, ledger, options) for _ in range(count)]
        for server in servers:
            stack.callback(_end, server, logs)
        end = time.monotonic() + WARM_S
        for server in servers:
            server.get("/")
        time.sleep(10)
        while time.monotonic() < end and not all(server.is_idle() for server in servers):
            pass
        yield servers, logs


async def run(servers: list[Server], slugs: list[str], args: argparse.Namespace) -> tuple[Seen, dict[str, float]]:
    seen, began = Seen(), time.monotonic()
    together = began + STEP_S * len(args.steps)  # from when on the rest arrive
    until = together + RAMP_S + 60 * args.minutes
    learners = [Learner(number, servers[number % len(servers)], slugs[number % len(slugs)], seen) for number in range(args.learners)]
    tasks = [asyncio.create_task(one.live(arrival(one.number, args), until)) for one in learners]
    first = together + RAMP_S if args.by_turns else began
    slow = [asyncio.create_task(visits(servers[0], slugs[0], first, until, args.by_turns)) for _ in range(args.slow)]
    peak: dict[str, float] = {}
    warm_cpu, warm_turns, loads = 0.0, 0, []
    while not all(task.done() for task in tasks):
        for server in servers:
            for what, value in server.held().items():
                peak[what] = max(peak.get(what, 0.0), value)
        if not warm_turns and len(seen.opening) >= 0.95 * args.learners:  # all are there: what a turn costs is counted from here
            warm_cpu, warm_turns = sum(server.cpu() for server in servers), max(1, len(seen.dials))
        loads.append(os.getloadavg()[0])
        await asyncio.sleep(1)
        if time.monotonic() > until + 4 * ANSWER_S:
            break
    spent = sum(server.cpu() for server in servers) - warm_cpu
    for task in (*tasks, *slow):
        task.cancel()
    await asyncio.gather(*tasks, *slow, return_exceptions=True)
    steps = carried(seen, began, args.steps)
    if args.steps:
        late = next((i for i, end in enumerate(seen.ends) if end > together + RAMP_S), len(seen.ends))
        seen.dials = seen.dials[late:]
    print("".join(f"{count} learners: dial p95 {p95:.0f} ms\n" for count, p95 in steps.items()), end="")
    more = {"CPU ms per dial": 1e3 * spent / max(1, len(seen.ends) - warm_turns), "load average": statistics.mean(loads or [0.0])}
    if args.by_turns:
        print(beside(seen, first))
    more["carried"] = max((count for count in steps if all(steps[few] <= GOAL_MS for few in steps if few <= count)), default=0)
    return seen, peak | more


def arrival(number: int, args: argparse.Namespace) -> float:
    """Seconds until this learner comes: in the first third of its step, or after all of them."""
    before = 0
    for step, count in enumerate(args.steps):
        if number < count:
            return float(STEP_S * step + COMING_S / 2 * (number - before) / (count - before))
        before = count
    return float(STEP_S * len(args.steps) + RAMP_S * (number - before) / max(1, args.learners - before))


def carried(seen: Seen, began: float, steps: list[int]) -> dict[int, float]:
    """Learners -> p95 in ms, of the turns that ended in the rest of their step."""
    found = {}
    for step, count in enumerate(steps):
        low, high = began + STEP_S * step + COMING_S, began + STEP_S * (step + 1)
        found[count] = 1e3 * share([took for took, end in zip(seen.dials, seen.ends, strict=True) if low <= end < high], 0.95)
    return found


def figures(seen: Seen, used: dict[str, float], missing: int, args: argparse.Namespace) -> dict[str, Any]:
    """As they are printed and stored."""
    p95 = 1e3 * share(seen.dials, 0.95)
    return {
        "learners": args.learners, "servers": args.servers, "minutes": args.minutes, "ledger": "PostgreSQL" if args.ledger else "SQLite",
        "opened": len(seen.opening), "opening p50, s": share(seen.opening, 0.5), "opening p95, s": share(seen.opening, 0.95),
        "dials turned": len(seen.dials), "dial p50, ms": 1e3 * share(seen.dials, 0.5), "dial p95, ms": p95,
        "dial p99, ms": 1e3 * share(seen.dials, 0.99), "rest p95, ms": 1e3 * share(seen.rests, 0.95),
        "write p95, ms": 1e3 * share(seen.writes, 0.95), "CPU per dial, ms": used["CPU ms per dial"],
        "learners per core by CPU": 1 / (used["CPU ms per dial"] / 1e3 / TURN_S),
        **({"learners at p95 <= 200 ms": used["carried"]} if args.steps else {}), "MiB": used["MiB"],
        "descriptors": used["descriptors"], "threads": used["threads"], "acknowledged": sum(seen.kept.values()), "lost": missing,
        "skipped in advance": seen.skipped,
        "errors": dict(seen.errors), "refused in words": dict(seen.refused), "load average": used["load average"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--steps", type=int, nargs="+", default=[], metavar="N", help="so many learners first, each number for 10 s")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--slow", type=int, default=0, help="how many more learners ask and read nothing")
    parser.add_argument("--by-turns", action="store_true", help="the slow ones come and go; times with and without them, side by side")
    parser.add_argument("--ledger", default="", metavar="URL", help="a PostgreSQL database instead of a file")
    parser.add_argument("--labs", nargs="+", metavar="SLUG", help="those that are opened; all numbered ones unless given")
    parser.add_argument("--option", action="append", default=[], metavar="WORD", help="goes to `ironlaw labs`; may be repeated")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    for name, most in (("learners", MOST_LEARNERS), ("minutes", MOST_MINUTES), ("servers", MOST_SERVERS), ("slow", MOST_LEARNERS)):
        if not 0 <= getattr(args, name) <= most:
            parser.error(f"--{name} is at most {most}")
    if args.steps != sorted({*args.steps}) or any(not 0 < count <= args.learners for count in args.steps):
        parser.error("--steps go up, to --learners at most")
    if args.by_turns and (not args.slow or args.steps):
        parser.error("--by-turns compares with and without slow learners: give --slow, such as --slow 3, and no --steps")
    slugs = args.labs or [lab.slug for lab in catalogue() if lab.ready and lab.slug != "review"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        place = args.ledger or str(home / "ledger.db")
        with open_ledger(place) as ledger:
            before = seed(ledger, slugs)
        with running(home, args.ledger, args.servers, args.option) as (servers, logs):
            seen, used = asyncio.run(run(servers, slugs, args))
        with open_ledger(place) as ledger:
            after = counts(ledger)
    missing = sum(max(0, seen.kept[key] - (after[key] - before.get(key, 0))) for key in seen.kept)
    result = figures(seen, used, missing, args) | {"in the servers' logs": sum(len(log.splitlines()) for log in logs)}
    for name, value in result.items():
        print(f"{name:26}{value:.4g}" if isinstance(value, float) else f"{name:26}{value}")
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1))
    sys.exit(1 if missing or seen.errors or len(seen.opening) < args.learners else 0)


if __name__ == "__main__":
    main()
