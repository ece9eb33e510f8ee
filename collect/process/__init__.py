"""How a command starts, is read, prints and ends: verbs, their parser, exit codes, the terminal.

Both packages declare their verbs as data (`verbs.Verb`); `cli.main` is the one command line.
"""
