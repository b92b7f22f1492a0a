"""The command `fugu`."""

from __future__ import annotations


def main() -> None:
    """Run the command line; a refusal prints one message and exits with its code."""
    from fugu.cli.app import run

    run()
