"""The history of a devnet until a test started, so that its report has what came later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from entresol.inprocess.devnet import Devnet


class DevnetStart(NamedTuple):
    """The devnet of a test, and what had happened on it when the test started."""

    devnet: Devnet
    printed: int
    failed: int

    @classmethod
    def now(cls, devnet: Devnet) -> DevnetStart:
        """Return the start of a test."""
        return cls(devnet, devnet.console.total, devnet.failures.total)


DEVNET_START: Final = pytest.StashKey[DevnetStart]()
