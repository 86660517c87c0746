"""Pages that are opened and left again hold no connection of the database. IRONLAW_ATTACK=full opens 300."""

from pathlib import Path

import psycopg
import soak


def test_connections_do_not_grow_with_the_pages(postgres_url: str, tmp_path: Path):
    with (
        soak.serving(IRONLAW_HOME=str(tmp_path), IRONLAW_LEDGER=postgres_url) as server,
        psycopg.connect(postgres_url, autocommit=True) as watching,
    ):

        def held() -> dict[str, float]:
            count = watching.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ironlaw'").fetchone()[0]
            return {**server.held(), "connections": count}

        before, after = soak.soak(server, held=held)
        print(f"{soak.OPENINGS} openings: {before} -> {after}")
        assert soak.grown(before, after) == {}
        assert after["connections"] <= 20
