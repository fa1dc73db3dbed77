"""What only `make test-long` runs: tests that take long and seldom fail alone, named in one place with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from tests.support.run.examples import tries_many

_INTEGRATION: Final = "tests/integration"
_KILLS: Final = "kills processes at random again and again"

LONG: Final[dict[str, str]] = {
    f"{_INTEGRATION}/test_cluster_faults.py": "faults of a cluster, one after the other, each with its recovery",
    f"{_INTEGRATION}/test_hostile_l1.py::test_kills_beside_a_hostile_l1_lose_double_and_invent_nothing": _KILLS,
    f"{_INTEGRATION}/test_node_crash.py": _KILLS,
    f"{_INTEGRATION}/test_fork_crash.py::test_ten_kills": _KILLS,
    f"{_INTEGRATION}/test_several_chains_crash.py": _KILLS,
    f"{_INTEGRATION}/test_storage_crash.py": _KILLS,
    "tests/properties/test_books_of_chains.py::test_they_agree_whenever_the_node_is_killed": _KILLS,
    "tests/properties/test_interop_traffic.py::test_bundles_of_any_length_of_time": "traffic for as long as is asked for",
    "tests/properties/test_derived_traffic.py::test_much_random_traffic": "10,000 transactions, and kills while they are derived",
    "tests/properties/test_fork_soak.py::test_a_soak_of_any_length_of_time": "a fork for as long as is asked for",
    "tests/properties/test_false_answers.py::test_nothing_that_l1_said_once_is_in_a_block_for_any_length": (
        "false answers for as long as is asked for"
    ),
    f"{_INTEGRATION}/test_settlement_crash.py::test_settlement_survives_kills": _KILLS,
    f"{_INTEGRATION}/test_operator_keys.py::test_kills_with_three_keys_lose_and_double_nothing": _KILLS,
    f"{_INTEGRATION}/test_settlement_on_anvil.py::test_kills_beside_another_l1_lose_and_double_nothing": _KILLS,
    f"{_INTEGRATION}/test_lying_l1_process.py": "a process beside an L1 that lies about everything",
    f"{_INTEGRATION}/test_largest_requests.py": "the largest request of every method, each measured",
    f"{_INTEGRATION}/test_failing_requests.py::test_failing_requests_of_any_method_leave_nothing": "failing requests of every method, and what they leave",
    f"{_INTEGRATION}/test_cluster_slow_database.py": "a database that responds late, for as long as leases last",
    f"{_INTEGRATION}/test_workers_linearizability.py": "a long history of reads and writes, then the search in it",
    "tests/differential/test_roots.py::test_a_long_random_chain_has_the_roots_of_anvils": (
        "a long random chain"
    ),
    "tests/explorer/test_explorer.py::test_a_browser_shows_it[a11y.mjs": "every page at every width in both colours",
    "tests/explorer/test_explorer.py::test_a_browser_shows_it[budget.mjs": "every page, loaded and measured",
    "tests/packaging/test_web3_versions.py": "installs several versions of web3.py",
}
"""Where the names of tests begin that are long, with the reason. At most a tenth of all tests."""

_PREFIXES: Final = tuple(LONG)


_OWN_PYTEST: Final = "starts pytest and web3 in a process of their own"
SLOW_FIXTURES: Final = {"runs": _OWN_PYTEST, "ran": _OWN_PYTEST}
"""Fixtures that make a test slow, with the reason."""


def mark_tiers(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of `make test-long` as `long`, and those with a slow fixture as `slow`.

    Those of a file that itself asks how many cases to try are `many`, as hypothesis marks its own.
    """
    for item in items:
        if item.nodeid.startswith(_PREFIXES):
            item.add_marker(pytest.mark.long)
        if isinstance(item, pytest.Function) and hasattr(item.module, tries_many.__name__):
            item.add_marker(pytest.mark.many)
        if isinstance(item, pytest.Function) and not SLOW_FIXTURES.keys().isdisjoint(
            item.fixturenames
        ):
            item.add_marker(pytest.mark.slow)
