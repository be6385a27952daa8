"""`python -m seesay` is the command line."""

from seesay.cli.main import start

start()
