"""`python -m seesay` is the command line."""

from seesay.cli.main import run

run()
