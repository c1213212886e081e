"""`python -m sandglass` is the command line."""

from sandglass.cli import main

main()
