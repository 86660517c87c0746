"""The tables' columns as the newest migration leaves them; a test compares the two.

Constraints, indexes and triggers are the migrations' business. (Naming PostgreSQL's options here would import all of its dialects.)
"""

from sqlalchemy import Column, Integer, MetaData, Table, Text

VERSION = "ironlaw_version"  # Alembic's own table; named for us, since a database of PostgreSQL may hold other things

metadata = MetaData()

events = Table(
    "ironlaw_events",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),  # the order in which this ledger took them in
    Column("id", Text, nullable=False, unique=True),
    Column("learner", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("lab", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("question", Text),  # from the payload, so that the database itself can hold the lock
    Column("payload", Text, nullable=False),  # JSON as text: both databases give back exactly what was written
    Column("time", Text, nullable=False),
)

# One row: whose ledger this is. Events that were imported may bear another learner's id.
learner = Table(
    "ironlaw_learner",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("since", Text, nullable=False),
)
