"""The contract between what is collected and everyone who reads it. No torch here.

``collect/schema.sql``, with the tables that `collect.measures` declares, is the only definition of
tables, columns, types, units, keys and checks. `contract` asks DuckDB what it says and hands it on
as Arrow schemas and as a codebook; `empty` lends one empty table of it; `files`
knows where the rows of a table lie and when they are complete, `headers` reads what a file says
of itself, `marks` and `run_files` compare files with the
run file of their unit, `sources` gathers those of
several directories, `assembly` puts their rows into one database and `attachment` leaves those
of large tables in their files; `views` names the SQL that
derives quantities from them. `counting` words a count.
"""

from collect.measures.declaration import quoted
from collect.process.interruption import is_interruption, raise_interruption
from collect.process.terminal import guarded, harmless
from collect.schema.assembly import (
    UNWRITABLE,
    assemble,
    check_networks,
    comment,
    transaction,
    unwritable,
)
from collect.schema.attachment import (
    attach,
    check_keys,
    left_in_files,
    replace_by_view,
    typed_columns,
)
from collect.schema.contract import (
    FRONT,
    LARGE,
    MEASURED,
    RAW,
    READABLE_VERSIONS,
    SCHEMA_VERSION,
    Column,
    ContractError,
    Table,
    arrow_schema,
    commented,
    connect,
    described,
    lookup,
    schema_sql,
    table_sql,
    tables,
    unit_apart,
    within_raw,
)
from collect.schema.empty import Trial, check_rows, empty_table
from collect.schema.files import UNFINISHED, incomplete_units, read_rows, stored_twice, table_files
from collect.schema.grain import (
    APART,
    CLUSTERS,
    GAINS,
    GRAINS,
    KEYS,
    KIND,
    NO_VALUE,
    OF_MODELS,
    OF_SUITES,
    REASONS,
    SAMPLES,
    SIBLINGS,
    UNITS,
    WITHIN,
)
from collect.schema.listing import DESCRIPTION, Listed, listed_files
from collect.schema.run_files import Comparison
from collect.schema.views import front_sql, views_by_subject, views_sql

__all__ = [
    "APART",
    "CLUSTERS",
    "DESCRIPTION",
    "FRONT",
    "GAINS",
    "GRAINS",
    "KEYS",
    "KIND",
    "LARGE",
    "MEASURED",
    "NO_VALUE",
    "OF_MODELS",
    "OF_SUITES",
    "RAW",
    "READABLE_VERSIONS",
    "REASONS",
    "SAMPLES",
    "SCHEMA_VERSION",
    "SIBLINGS",
    "UNFINISHED",
    "UNITS",
    "UNWRITABLE",
    "WITHIN",
    "Column",
    "Comparison",
    "ContractError",
    "Listed",
    "Table",
    "Trial",
    "arrow_schema",
    "assemble",
    "attach",
    "check_keys",
    "check_networks",
    "check_rows",
    "comment",
    "commented",
    "connect",
    "described",
    "empty_table",
    "front_sql",
    "guarded",
    "harmless",
    "incomplete_units",
    "is_interruption",
    "left_in_files",
    "listed_files",
    "lookup",
    "quoted",
    "raise_interruption",
    "read_rows",
    "replace_by_view",
    "schema_sql",
    "stored_twice",
    "table_files",
    "table_sql",
    "tables",
    "transaction",
    "typed_columns",
    "unit_apart",
    "unwritable",
    "views_by_subject",
    "views_sql",
    "within_raw",
]
