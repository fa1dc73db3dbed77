"""Test contracts and bridges with pytest: fixtures of the plugin, and assertions that decode (docs/testing.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol import lazy_names

if TYPE_CHECKING:
    from entresol.testing.chain_time import ChainTime
    from entresol.testing.events import emitted, not_emitted
    from entresol.testing.impersonation import impersonated
    from entresol.testing.reverts import reverted

__all__ = ["ChainTime", "emitted", "impersonated", "not_emitted", "reverted"]

if not TYPE_CHECKING:  # pytest imports the package in every run.
    __getattr__ = lazy_names(
        __name__,
        {
            "ChainTime": "entresol.testing.chain_time",
            "emitted": "entresol.testing.events",
            "impersonated": "entresol.testing.impersonation",
            "not_emitted": "entresol.testing.events",
            "reverted": "entresol.testing.reverts",
        },
    )
