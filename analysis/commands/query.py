"""The verb that runs one statement, in a child forked before any library is loaded."""

from __future__ import annotations

import argparse
import sys


def sql(options: argparse.Namespace) -> int:
    """Print what a reading statement finds, or open DuckDB's shell; return the exit code."""
    if options.is_process and (options.query or not sys.stdin.isatty()):
        # The program ends with the code of the child that runs the statement. Short of memory a
        # library may end the process while it is loaded, so the child loads them all.
        from collect.process.child import child_code

        code = child_code(options.timeout)
        if code is not None:
            return code
    from analysis.commands import tables

    return tables.sql(options)
