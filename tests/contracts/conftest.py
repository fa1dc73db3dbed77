"""Fixtures of the tests of contracts."""

from __future__ import annotations

import pytest

from tests.support.contracts.l1_contracts import Deployed, deploy


@pytest.fixture
def l1() -> Deployed:
    return deploy()
