"""Databases of Postgres's that are used again: to copy one and to drop it took half of a short
test's time."""

from __future__ import annotations

from tests.support.postgres import Postgres

_FINGERPRINT = """
SELECT md5(string_agg(line, E'\\n' ORDER BY line)) FROM (
  SELECT format('%s.%s %s %s %s %s', relname, attname, atttypid, attnotnull, relkind, relacl) AS line
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND attnum > 0
  UNION ALL SELECT format('%s %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT format('%s %s', tgname, tgenabled) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT version_num FROM alembic_version
  UNION ALL SELECT setconfig::text FROM pg_db_role_setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS lines
"""
"""Whatever of a database a test may have changed, but for rows."""

_END_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

_EMPTY = """
DO $$
DECLARE
  found text;
  filled boolean;
BEGIN
  FOR found IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND NOT tablename = ANY ('{{{tables}}}') LOOP
    EXECUTE format('DROP TABLE IF EXISTS %I CASCADE', found);  -- the months of a table that is partitioned
  END LOOP;
  FOR found IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', found) INTO filled;
    IF filled THEN
      EXECUTE format('TRUNCATE %I CASCADE', found);
    END IF;
  END LOOP;
  FOR found IN SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL LOOP
    EXECUTE format('ALTER SEQUENCE %I RESTART', found);
  END LOOP;
  IF ({fingerprint}) <> '{wanted}' THEN
    RAISE EXCEPTION 'not as it was';
  END IF;
END $$
"""


class Copies:
    """Databases with the schema of the one at ``like`` and no rows. One that came back with another
    schema is dropped; one that came back with rows is emptied, its numbers start anew."""

    def __init__(self, server: Postgres, like: str) -> None:
        self._server = server
        self._like = like
        self._free: list[str] = []
        name = like.rpartition("/")[2]
        tables = server.ask(
            "SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = 'public'", name
        )
        self._empty = _EMPTY.format(
            tables=tables, fingerprint=_FINGERPRINT, wanted=server.ask(_FINGERPRINT, name)
        )

    def take(self) -> str:
        """The address of an empty one."""
        return self._free.pop() if self._free else self._server.database(self._like)

    def give(self, address: str) -> None:
        """Take it back, whoever is still connected."""
        if self._server.try_in(address.rpartition("/")[2], _END_OTHERS, self._empty):
            self._free.append(address)
        else:
            self._server.drop(address)
