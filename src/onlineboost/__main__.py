"""``python -m onlineboost`` and the command ``onlineboost``."""

from __future__ import annotations

import argparse

from onlineboost import __version__


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="onlineboost", description="Online boosting, in one pass over a stream.")
    parser.add_argument("--version", action="version", version=f"onlineboost {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("demo", help="every algorithm against its base learner on real data")
    parser.parse_args(arguments)
    from onlineboost.cli import demo

    demo.run()


if __name__ == "__main__":
    main()
