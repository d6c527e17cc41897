"""What the tests on Postgres lean on: a database that is used again is as a new one."""

from __future__ import annotations

from pathlib import Path

from tests.api.service import Store, running
from tests.support.copies import Copies
from tests.support.logs import episode, went
from tests.support.postgres import Postgres, needs_postgres

pytestmark = needs_postgres
ROWS = """
SELECT sum((xpath('//n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', tablename), true, true, '')))[1]
  ::text::int) FROM pg_tables WHERE schemaname = 'public'
"""
"""Of all tables: the version of the schema is one."""
NUMBERS = "SELECT count(*) FROM pg_sequences WHERE last_value IS NOT NULL"


async def test_one_with_rows_comes_back_empty(
    copies: Copies, postgres: Postgres, tmp_path: Path
) -> None:
    address = copies.take()
    name = address.rpartition("/")[2]
    async with running(Store(tmp_path, address)) as service:
        id, token = await service.open()
        await service.tell(id, token, *episode([went("/cart")]))
    assert int(postgres.ask(ROWS, name)) > 5
    assert int(postgres.ask(NUMBERS, name)) > 0
    copies.give(address)
    assert copies.take() == address
    assert (postgres.ask(ROWS, name), postgres.ask(NUMBERS, name)) == ("1", "0")
    copies.give(address)


def test_one_with_another_schema_does_not_come_back(copies: Copies, postgres: Postgres) -> None:
    for change in (
        "ALTER TABLE tasks ADD COLUMN more integer",
        "DROP TABLE leaves CASCADE",
        "CREATE FUNCTION one() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "UPDATE alembic_version SET version_num = '0001'",
    ):
        address = copies.take()
        assert postgres.try_in(address.rpartition("/")[2], change)
        copies.give(address)
        other = copies.take()
        assert other != address
        copies.give(other)
