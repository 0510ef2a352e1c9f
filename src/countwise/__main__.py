"""Command line: ``python -m countwise``."""

from countwise.cli import main

if __name__ == "__main__":
    main()
