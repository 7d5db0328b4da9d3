"""``python -m onlineboost`` and the command ``onlineboost``."""

from __future__ import annotations

from onlineboost.cli.app import main

if __name__ == "__main__":
    main()
