"""Add up the metrics of the processes of a node, in the text format of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def sum_metrics(texts: Iterable[str]) -> str:
    """Return the metrics of all `texts`, where equal names and labels are one sample with the sum of the values."""
    families: dict[str, list[str]] = {}
    samples: dict[str, dict[str, int | float]] = {}
    for text in texts:
        family = ""
        for line in text.splitlines():
            if line.startswith("# "):
                family = line.split(" ", 3)[2]
                comments = families.setdefault(family, [])
                if line not in comments:
                    comments.append(line)
                continue
            name, _, value = line.rpartition(" ")
            values = samples.setdefault(family, {})
            values[name] = values.get(name, 0) + (float(value) if "." in value else int(value))
    lines = [
        line
        for family, comments in families.items()
        for line in (
            *comments,
            *(f"{name} {_shown(it)}" for name, it in samples.get(family, {}).items()),
        )
    ]
    return "".join(line + "\n" for line in lines)


def _shown(value: int | float) -> str:  # noqa: PYI041 - they are shown differently
    return f"{value:.9f}" if isinstance(value, float) else str(value)
