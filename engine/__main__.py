"""`python -m engine`: the command line."""

import sys

from engine.commands import main

if __name__ == "__main__":
    sys.exit(main())
