"""Everything that a database's schema is made of, in a form in which two of them can be compared.

The order of columns and constraints does not count, and neither does white space.
"""

from collections.abc import Iterator

import sqlalchemy as sa


def schema_of(connection: sa.Connection) -> list[str]:
    """A line for each table, column, constraint, index, function, policy, trigger and right."""
    lines = _of_sqlite(connection) if connection.dialect.name == "sqlite" else _of_postgresql(connection)
    return sorted(" ".join(line.split()) for line in lines)


def _of_sqlite(connection: sa.Connection) -> Iterator[str]:
    made = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    for kind, name, sql in connection.exec_driver_sql(made):
        if kind != "table":
            yield f"{kind} {name}: {sql}"
            continue
        start, end = sql.index("("), sql.rindex(")")
        yield f"table {sql[:start]} {sql[end + 1 :]}".replace('"', "")
        for item in _items(sql[start + 1 : end]):
            # A rule may be written with its column; where the table was made anew, it is listed apart.
            column, beside, rule = item.partition(" CONSTRAINT ")
            for line in (column, f"CONSTRAINT {rule}") if column.strip() and beside else (item,):
                yield f"table {name}: {line}".replace('"', "")


def _items(listed: str) -> list[str]:
    """The parts of a list that commas divide, but for those inside of parentheses."""
    depth, items = 0, [""]
    for letter in listed:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return items


def _of_postgresql(connection: sa.Connection) -> Iterator[str]:
    for kind, query in _CATALOGS.items():
        for row in connection.exec_driver_sql(query):
            yield f"{kind} {' | '.join(map(str, row))}"


_OURS = "NOT EXISTS (SELECT FROM pg_depend WHERE objid = {0}.oid AND deptype = 'e')"
_TABLE = "relnamespace = 'public'::regnamespace"
_CATALOGS = {
    "table": f"""
        SELECT relname, relkind, relowner::regrole, relpersistence, relrowsecurity, relforcerowsecurity, reloptions,
            ARRAY(SELECT granted FROM unnest(relacl::text[]) AS granted ORDER BY 1)
        FROM pg_class WHERE {_TABLE} AND {_OURS.format("pg_class")}
    """,
    "column": f"""
        SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid),
            attgenerated, attidentity, attcollation::regcollation, attstorage, attcompression, attstattarget,
            attoptions, attacl
        FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE {_TABLE} AND relkind <> 'i' AND attnum > 0 AND NOT attisdropped
    """,
    "constraint": """
        SELECT conrelid::regclass, conname, contype, convalidated, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
    """,
    "index": f"""
        SELECT pg_get_indexdef(indexrelid), indisvalid, indisprimary, indisunique, indnullsnotdistinct
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE {_TABLE}
    """,
    "function": f"""
        SELECT pg_get_functiondef(oid), proowner::regrole, proacl FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND {_OURS.format("pg_proc")}
    """,
    "policy": "SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies",
    "trigger": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "type": f"""
        SELECT typname, typtype FROM pg_type
        WHERE typnamespace = 'public'::regnamespace AND typcategory <> 'A' AND {_OURS.format("pg_type")}
    """,
    "extension": "SELECT extname, extnamespace::regnamespace FROM pg_extension",
    "schema": "SELECT nspacl FROM pg_namespace WHERE nspname = 'public'",
    "default right": "SELECT defaclrole::regrole, defaclobjtype, defaclacl FROM pg_default_acl",
}
