"""How many examples hypothesis tries: a few while somebody waits, all that a test asks for in `make test-long`."""

from __future__ import annotations

import os
from typing import Final

import hypothesis

VARIABLE: Final = "ENTRESOL_EXAMPLES"
"""With `many`, each test tries as many examples as it asks for."""

FEW: Final = 10
"""The examples are divided by it otherwise."""
AT_LEAST: Final = 10


def examples(many: int) -> int:
    """Return how many examples a test tries that would try `many` at night."""
    return many if tries_many() else min(many, max(AT_LEAST, many // FEW))


def tries_many() -> bool:
    """Say whether this run searches for as long as it takes."""
    return os.environ.get(VARIABLE) == "many"


def load_profile() -> None:
    """Set what holds for all tests with examples.

    Tests run beside each other on machines of any speed, so time says nothing about one example. CI tries the same few
    examples every time, so that it judges the change and not its luck; everybody else searches for new ones.
    """
    is_ci = os.environ.get("CI") == "true" and not tries_many()
    parent = hypothesis.settings.get_profile("ci" if is_ci else "default")
    hypothesis.settings.register_profile(
        "entresol",
        parent,
        max_examples=examples(100),
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("entresol")
