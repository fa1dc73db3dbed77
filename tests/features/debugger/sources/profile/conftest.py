"""What the contracts of the gas reports do on a chain, counted once for all tests."""

from __future__ import annotations

import pytest

from entresol.execution.profile import PROFILE, decode_profile
from entresol.execution.tracing import TraceBudget, TraceLimits, trace_transaction
from entresol.features.debugger.sources.profile.totals import ProfileTotals
from entresol.features.debugger.sources.registry import SourceRegistry
from tests.support.chain.api_client import running_api
from tests.support.contracts.shop import OUTPUT, ShopRun


@pytest.fixture(scope="module")
def totals() -> ProfileTotals:
    found = ProfileTotals()
    with running_api() as api:
        run = ShopRun(api)
        run.run()
        run.send(run.shop, "buy(uint256)", 0, value=1)
        ledger = api.chain.ledger
        for number in range(1, api.chain.number + 1):
            budget = TraceBudget(TraceLimits())
            ran = trace_transaction(ledger.sealed_block(number), 0, PROFILE, budget)
            found.add(decode_profile(ran.trace or b""), ran.gas_used)
    return found


@pytest.fixture(scope="module")
def sources() -> SourceRegistry:
    return SourceRegistry.of_paths([str(OUTPUT)])
