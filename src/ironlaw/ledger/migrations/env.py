"""Alembic runs this file. The connection, its transaction and its lock come from schema.py.

Migrations are numbered and append-only: a released one is never changed. To add one, write
`versions/n000N_what.py` with `revision = "000N"` and `down_revision`, put its number at the end of REVISIONS in schema.py,
and bring tables.py up to date.
"""

from alembic import context

from ironlaw.ledger.sql_tables import VERSION, metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION)
context.run_migrations()
