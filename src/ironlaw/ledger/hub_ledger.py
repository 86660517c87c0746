"""A ledger in PostgreSQL for each user of a hub: a schema of their own, and a role that reaches no other.

A student has a shell beside the labs, so whatever address their server is given, they can use by hand. One role for all would let each
of them read everybody's ledger; so each gets one, and the hub's configuration asks for its address when it starts their server:

    spawner.environment["IRONLAW_LEDGER"] = ledger_of("postgresql://admin@db/ironlaw", spawner.user.name, key)
"""

from __future__ import annotations

import hashlib
import hmac
import re

from ironlaw.errors import BadValue, LedgerUnavailable, MissingExtra
from ironlaw.ledger.place import Place, place

PREFIX = "ironlaw_"
COMMENT = "ironlaw ledger of "  # and the user's name: what a schema's comment says
PLAIN = re.compile(r"[a-z0-9_]{1,40}")
LONGEST, SHORTEST_KEY = 255, 32
TURN = 0x69726F6E  # two servers of one user may start at once


def schema_of(user: str) -> str:
    """The user's schema, and the name of their role. PostgreSQL cuts names at 63 bytes, so a long or unusual one ends in its hash; no
    plain one has a hyphen."""
    if not user or len(user) > LONGEST:
        raise BadValue(f"{user[:40]!r} is not the name of a hub's user; give 1 to {LONGEST} characters")
    if PLAIN.fullmatch(user):
        return PREFIX + user
    readable = re.sub(r"[^a-z0-9]+", "_", user.lower())[:24].strip("_")
    return f"{PREFIX}{readable}-{hashlib.sha256(user.encode()).hexdigest()[:20]}"


def ledger_of(admin: str, user: str, key: str) -> str:
    """The address of this user's ledger, with a password; role and schema are created where there are none.

    `admin`: the address of a role that may create roles and schemas there. `key`: a secret of the hub's, from which passwords follow, so
    that two servers of one user have the same.
    """
    if len(key) < SHORTEST_KEY:
        raise BadValue(f"the key of the ledgers' passwords is too short; give {SHORTEST_KEY} characters, such as: openssl rand -hex 32")
    where = place(admin)
    if where.path is not None:
        raise BadValue(f"{where} is a file; the ledgers of a hub's users need a database: postgresql://USER@HOST/DATABASE")
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        raise MissingExtra("a ledger in PostgreSQL needs psycopg: pip install 'ironlaw[postgres]'") from None
    name = schema_of(user)
    password = password_of(name, key)
    role = sql.Identifier(name)
    try:
        with psycopg.connect(address(where)) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (TURN,))
            known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
            begin = sql.SQL("ALTER ROLE {}" if known else "CREATE ROLE {} NOSUPERUSER NOCREATEDB NOCREATEROLE")
            connection.execute(begin.format(role) + sql.SQL(" LOGIN PASSWORD {}").format(sql.Literal(password)))
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(role))
            connection.execute(sql.SQL("REVOKE ALL ON SCHEMA {} FROM PUBLIC").format(role))
            connection.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA {} TO {}").format(role, role))
            connection.execute(sql.SQL("ALTER ROLE {} SET search_path = {}").format(role, role))
            connection.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(role, sql.Literal(f"{COMMENT}{user}")))
    except psycopg.Error as error:
        reason = " ".join(str(error).split())[:300]
        raise LedgerUnavailable(
            f"no ledger for {user!r} in {where} ({reason}); check that the server is running and that the role may create roles and schemas"
        ) from None
    return address(where, name, key)


def password_of(name: str, key: str) -> str:
    return hmac.new(key.encode(), name.encode(), hashlib.sha256).hexdigest()


def address(where: Place, name: str = "", key: str = "") -> str:
    """The database's address as libpq takes it: for the administrator's role, or for the one of this name."""
    url = where.url.set(drivername="postgresql")
    return (url.set(username=name, password=password_of(name, key)) if name else url).render_as_string(hide_password=False)
