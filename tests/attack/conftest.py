"""Attacks, as a suite of their own: what somebody with bad luck, bad files or bad intentions could do.

    make attack                       everything at full length (IRONLAW_ATTACK=full), with the figures that docs/security.md quotes
    pytest tests/attack               the same attacks, briefly: a part of `make test`, not of `make check`

| file | attack |
|---|---|
| test_user_files.py | `ironlaw analyze` and `measure` on files that exit, hang, crash, flood, start processes, are interrupted |
| test_fuzz_cli.py | odd command lines: every option of every command, odd values, odd files, odd environments (500) |
| test_fuzz_urls.py | odd addresses, queries, headers, cookies and bodies for the labs' server: never a 500 (2,000) |
| test_fuzz_direct.py | odd frames on the dials' socket: binary, deep, huge, wrong types; it goes on answering (650) |
| test_fuzz_imports.py | traces, machines, evidence and histories with changed bytes and changed values: refused, or read (1,500) |
| test_ledger_corruption.py | a ledger's file: bits turned, ranges zeroed, changed by SQL with and without its triggers |
| test_ledger_kills.py | kill -9 of writers, of a ledger's creation, of setting a broken one aside |
| test_other_user.py | another user of the machine at the port, the process table and the files (root only: who else can be another user) |
| test_foreign_page.py | somebody else's page in the learner's own Chromium, 11 ways from two sites; a hostile ledger; the policy alone |
| test_limits.py | 400 half-open connections, slow headers, bodies without end |
| test_soak.py | pages opened and left: memory, threads, descriptors (300; PostgreSQL's connections in tests/postgres) |
| test_expressions.py | texts and values wherever a text is computed: claims, cards, keys, levers, designs, axes (2,000 each) |
| test_own_figures.py | files of figures with one odd value: machines, boxes, hosts, prices, engines, assignments, benchmarks (2,000 each) |
| test_every_lab.py | every lab on a ledger with odd runs, decisions, designs and times |
| test_hand_ins.py | a class of 10,000 files, 500 of them broken or hostile, of 45 kinds |
| test_ledger_imports.py | ledgers by the schema and mutations of them: refused, or every page opens |

PostgreSQL's are in tests/postgres.
What a test counts, it gives to the fixture `figure`; the figures are printed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import quick_commits  # noqa: F401  what is killed or unplugged (test_ledger_kills.py) has a process of its own, which waits for the disk
from starlette.testclient import TestClient

FIGURES = pytest.StashKey[list[str]]()
TOKEN = "a-secret-for-the-attacks"


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """`figure("500 command lines: 0 tracebacks")`: shown after the run."""
    return request.config.stash.setdefault(FIGURES, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(FIGURES, [])
    if lines:
        terminalreporter.section("figures of the attacks")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def outside() -> Iterator[TestClient]:
    """The labs' server with a secret, spoken to by somebody who does not know it. A fault in it is an answer of 500."""
    from ironlaw.server.app import create_app

    app = create_app(door_token=TOKEN)
    with TestClient(app, base_url="http://127.0.0.1:2718", raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


@pytest.fixture
def inside(outside: TestClient) -> TestClient:
    """The same server, entered as the browser is that `ironlaw labs` opens: the token in the address, then the cookie."""
    answer = outside.get("/", params={"token": TOKEN})
    assert answer.status_code == 200 and outside.cookies, answer.text
    return outside
