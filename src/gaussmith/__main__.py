"""`python -m gaussmith`."""

from __future__ import annotations

import sys

from gaussmith.cli import main

if __name__ == "__main__":
    sys.exit(main())
