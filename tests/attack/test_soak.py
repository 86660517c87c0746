"""Pages that are opened and left again leave nothing behind: memory, threads, descriptors. IRONLAW_ATTACK=full opens 300."""

from pathlib import Path

import soak


def test_pages_end_with_their_browser(tmp_path: Path):
    with soak.serving(IRONLAW_HOME=str(tmp_path), IRONLAW_LEDGER="") as server:
        before, after = soak.soak(server)
        print(f"{soak.OPENINGS} openings: {before} -> {after}")
        assert soak.grown(before, after) == {}
        server.get("/")  # and it still answers
