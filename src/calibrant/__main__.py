"""``python -m calibrant`` is the command line."""

from .cli import main

main()
