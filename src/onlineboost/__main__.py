"""``python -m onlineboost`` and the command ``onlineboost``."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run a command; the version is printed before anything heavy is imported."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--version"], ["-V"]) and sys.stdout is not None:
        from onlineboost.cli.version import say_version

        say_version()
        return
    from onlineboost.cli.app import main as run

    run(arguments)


if __name__ == "__main__":
    main()
