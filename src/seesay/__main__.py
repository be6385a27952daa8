"""`python -m seesay` is the command line."""

from seesay.cli.start import run

run()
