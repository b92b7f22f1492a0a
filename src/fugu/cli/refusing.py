"""Options that a command does not take for what is asked: refused, never ignored."""

from __future__ import annotations

from fugu.errors import UsageError

_DEFAULTS: dict[str, object] = {
    "pairs": "all",
    "missing": "error",
    "prior": "empirical",
    "noise": "best",
    "method": "best",
    "grid": "auto",
    "mechanism": "noise",
    "delta": "0",
    "shift": "0",
    "tolerance": "0.1",
    "smoothing": 0.0,
    "start": "fitted",
    "allow_no_noise": False,
    "no_header": False,
    "dry_run": False,
}


def refuse(why: str, **given: object) -> None:
    """Options that a route does not know are refused, never ignored."""
    changed = [f"--{name.replace('_', '-')}" for name, value in given.items() if value != _DEFAULTS.get(name)]
    if changed:
        raise UsageError(f"{', '.join(changed)}: {why}; leave it out")
