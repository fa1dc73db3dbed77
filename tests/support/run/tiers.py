"""The tests that only `make test-long` runs: those that take long and seldom fail alone, named in one place with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from tests.support.run.examples import tries_many

EXPLORER: Final = "tests/explorer/test_explorer.py"
_INTEGRATION: Final = "tests/integration"
_BROWSER: Final = (
    "more of the pages in a browser; `make test` visits each, acts on them and attacks them"
)
_KILLS: Final = "kills processes at random again and again"
_FLOODS: Final = "another flood; `make test` has one of each kind"
_CLUSTER: Final = (
    "another case of a cluster, for which nodes are started; `make test` has one of each kind"
)
_WORKERS: Final = "another way in which a worker is lost; `make test` has a kill and a stop"
_RECIPES: Final = "the recipe of another tool; `make test` runs those of Foundry and of Hardhat 3"
_FOUNDRY: Final = (
    "another command of Foundry; `make test` runs a script, tests on a fork and a replay"
)
_CAST: Final = "another command of cast; `make test` sends, deposits and reads a reason with it"
_PAGES: Final = "another program of a page; `make test` runs the tests of its tutorial"
_ANVIL: Final = "starts anvil once more for a variation of the same comparison"
_PROCESSES: Final = "starts processes for a variation that `make test` has once"
_LIES: Final = "another method that L1 lies about; `make test` has blocks, logs and sends"
_INSTALLS: Final = (
    "installs or builds the wheel once more; `make test` follows the tutorial with it"
)

LONG: Final[dict[str, str]] = {
    "tests/packaging/test_deleted_features.py": "starts a node for each feature that is deleted from the wheel",
    "tests/features/cluster/integration/test_cluster_faults.py": "faults of a cluster, one after the other, each with its recovery",
    f"{_INTEGRATION}/test_settlement_on_anvil.py::test_kills_beside_another_l1_lose_and_double_nothing": _KILLS,
    "tests/features/fork/integration/test_fork_crash.py::test_kills_while_reading_and_caching_lose_nothing[10]": _KILLS,
    f"{_INTEGRATION}/test_node_crash.py": _KILLS,
    f"{_INTEGRATION}/test_several_chains_crash.py": _KILLS,
    "tests/properties/test_interop_traffic.py::test_kills_lose_and_double_no_bundle": _KILLS,
    "tests/properties/test_interop_traffic.py::test_bundles_of_any_length_of_time": "traffic for as long as is asked for",
    "tests/properties/test_fork_soak.py::test_a_soak_of_any_length_of_time": "a fork for as long as is asked for",
    "tests/properties/test_false_answers.py::test_nothing_that_l1_said_once_is_in_a_block_for_any_length": (
        "false answers for as long as is asked for"
    ),
    f"{_INTEGRATION}/test_settlement_crash.py::test_settlement_survives_kills": _KILLS,
    f"{_INTEGRATION}/test_settlement_crash.py::test_deposits_survive_kills[0]": _KILLS,
    f"{_INTEGRATION}/test_raw_transactions.py::test_what_a_flood_was_acknowledged_survives[term]": _KILLS,
    **{
        f"tests/features/cluster/integration/test_cluster.py::test_{name}": _CLUSTER
        for name in (
            "what_a_paused_producer_does_not_answer_is_sent_to_the_next_one",
            "a_copy_of_a_running_node_starts_as_a_replica",
            "the_chain_goes_on_after_postgresql_restarts",
            "a_batch_that_l1_has_is_not_unwound",
            "a_node_with_a_wrong_clock_follows_and_does_not_take_over",
        )
    },
    **{
        f"tests/features/cluster/integration/test_cluster_workers.py::test_{name}": _CLUSTER
        for name in (
            "any_process_of_the_producer_feeds_members_and_nobody_else",
            "workers_go_on_while_their_node_takes_over",
        )
    },
    "tests/features/cluster/integration/test_cluster.py::test_operators_see_the_nodes_and_go_back_to_a_block": (
        "operators go back with the rights of their role in `make test`"
    ),
    "tests/features/cluster/integration/test_cluster_replicas.py::test_a_replica_waits_for_a_receipt": _CLUSTER,
    f"{_INTEGRATION}/test_interop_workers.py::test_a_worker_that_replaces_another": _WORKERS,
    f"{_INTEGRATION}/test_request_fuzzing.py::test_any_request_has_a_response_and_the_chain_goes_on[ws]": (
        "the same requests over a WebSocket"
    ),
    f"{_INTEGRATION}/test_cli.py::test_a_terminal_gets_colours_unless_disabled[environment1": _PROCESSES,
    "tests/features/fork/integration/test_fork_misses.py::test_blocks_are_read_alike": (
        "every read of a block; `make test` has those of transactions, accounts and calls"
    ),
    **{
        f"{_INTEGRATION}/test_node_parts.py::test_a_node_whose_part_fails_to_start_leaves_nothing_open[{node}-": (
            "the parts of another node; `make test` has those of a pair and of a member"
        )
        for node in ("remote", "layer_one", "worker")
    },
    f"{_INTEGRATION}/test_settlement_on_anvil.py::test_a_settlement_transaction_that_l1_does_not_include": (
        "waits until fees were raised again and again"
    ),
    f"{_INTEGRATION}/test_real_token_tutorial.py": _PAGES,
    **{
        f"{_INTEGRATION}/test_testing_pages.py::test_{name}": _PAGES
        for name in (
            "wrong_tests_of_the_tutorial_show_what_it_says",
            "a_program_prints_what_the_page_shows",
            "the_tests_of_the_page_for_users_of_eth_tester_pass",
        )
    },
    f"{_INTEGRATION}/test_tutorials.py::test_the_pages_of_several_chains_print_what_they_show[docs/interop.md]": _PAGES,
    f"{_INTEGRATION}/test_readme.py::test_a_program_prints_what_the_page_shows[js": _PAGES,
    **{
        f"{_INTEGRATION}/test_lying_l1.py::test_after_any_wrong_value_in_any_field_everything_goes_on[{name}": _LIES
        for name in (
            *("eth_call", "eth_chainId", "eth_blockNumber", "eth_estimateGas", "eth_getBalance"),
            *("eth_getTransaction", "eth_maxPriorityFeePerGas"),
        )
    },
    **{
        f"{_INTEGRATION}/test_anvil_command.py::test_a_fresh_chain_is_that_of_anvil[{flags}": _ANVIL
        for flags in ("no flags", "-a")
    },
    **{
        f"tests/peers/test_blobs.py::test_older_forks_have_no_blobs[{fork}]": _ANVIL
        for fork in ("london", "paris")
    },
    **{
        f"tests/features/workers/integration/test_workers_lifetime.py::test_{name}": _WORKERS
        for name in (
            "the_end_of_the_producer_ends_all",
            "a_port_that_another_node_has_is_reported_and_lines_of_workers_are_whole",
            "a_worker_that_does_not_read_costs_a_bounded_number_of_bytes",
            "a_worker_that_hangs_is_reported_and_replaced",
            "many_requests_for_the_metrics_are_answered_by_few_collections",
            "long_calls_of_clients_that_leave_a_worker_end_on_the_producer",
        )
    },
    **{
        f"{_INTEGRATION}/test_floods.py::test_a_flood_does_not_keep_another_client_from_being_served[{name}]": _FLOODS
        for name in (
            *("pongs", "pipelined requests on 20 connections", "pipelined pages"),
            *("large requests on 8 connections", "large batches in a row", "failing requests"),
            "500 endless calls at a time, for a call that takes long",
            "100 connections",
        )
    },
    f"{_INTEGRATION}/test_floods.py::test_a_flood_of_one_chain_lets_clients_of_another_be_served": _FLOODS,
    f"{_INTEGRATION}/test_floods.py::test_a_flood_of_a_node_with_other_flags_lets_another_client_be_served": _FLOODS,
    f"{_INTEGRATION}/test_failing_requests.py::test_long_transactions_that_are_rejected_take_no_memory_for_good[workers]": _FLOODS,
    f"{_INTEGRATION}/test_cli.py::test_a_signal_stops_the_node_soon_while_it_is_busy[2]": (
        "the other signal, beside calls that never end"
    ),
    f"{_INTEGRATION}/test_floods.py::test_late_failures_of_validations_cost_no_more_than_bad_signatures": (
        "compares processor times again and again"
    ),
    f"{_INTEGRATION}/test_largest_requests.py": "the largest request of every method, each measured",
    f"{_INTEGRATION}/test_failing_requests.py::test_failing_requests_of_any_method_leave_nothing": "failing requests of every method, and what they leave",
    "tests/features/workers/integration/test_workers_linearizability.py": "a long history of reads and writes, then the search in it",
    f"{EXPLORER}::test_a_browser_shows_it[a11y.mjs": "every page at every width in both colours",
    f"{EXPLORER}::test_a_browser_shows_it[budget.mjs": "every page, loaded and measured",
    **{
        f"{EXPLORER}::test_a_browser_shows_it[{name}.mjs": _BROWSER
        for name in (
            *("tokens", "reasons", "compiled", "wallets", "editing", "truth"),
            *("passages", "terrace"),
        )
    },
    f"{EXPLORER}::test_a_copy_that_is_offline_says_what_it_has_not": _BROWSER,
    "tests/features/adding/integration/test_add_chain.py::test_chains_that_are_added_at_once_are_all_added_up_to_the_most_that_a_node_has": (
        "as many chains as a node has at most"
    ),
    **{
        f"tests/clients/test_ape.py::test_{name}": "another configuration of Ape, which starts for seconds"
        for name in (
            "its_example_passes_on_a_node_that_runs",
            "its_example_passes_on_the_second_of_two_chains",
            "a_setting_that_does_not_exist_is_named",
            "a_fork_has_what_its_remote_has",
        )
    },
    "tests/clients/test_javascript.py::test_a_client_works_between_two_forks[bridge-zksync-ethers.mjs]": (
        "the bridge of a fork by another client than viem"
    ),
    **{
        f"tests/clients/test_recipes.py::test_a_recipe_does_what_it_shows[{tool}]": _RECIPES
        for tool in ("Ape", "titanoboa", "Moccasin", "Hardhat 2", "Hardhat 3 with viem")
    },
    **{
        f"tests/clients/test_foundry.py::test_{name}": _FOUNDRY
        for name in (
            *("a_contract_is_created", "a_call_is_traced", "a_quoted_number_is_taken"),
            "a_transaction_is_traced_by_the_node",
        )
    },
    **{
        f"tests/clients/test_cast.py::test_{name}": _CAST
        for name in (
            *("a_query_has_its_result", "a_transaction_is_sent_and_its_receipt_awaited[delegation"),
            *("a_transaction_is_signed_first_and_published_later", "a_call_may_assume"),
            *("the_node_signs_for_an_unlocked_account", "logs_are_found_by_signature_and_topic"),
            *("a_contract_is_deployed_written_and_read", "what_is_sent_without_waiting"),
        )
    },
    "tests/clients/test_javascript.py::test_a_client_works[accounts-viem.mjs": (
        "the accounts and paymasters of zksync-ethers, by another client"
    ),
    "tests/clients/test_titanoboa.py::test_contracts_are_used_without_a_warning[L1]": (
        "the layer that is more like other chains"
    ),
    "tests/clients/test_javascript.py::test_a_client_works[zk-transactions-viem.mjs": (
        "the transactions of zksync-ethers, by another client"
    ),
    **{
        f"tests/clients/test_javascript.py::test_a_client_works_between_two_layers[bridge-{client}.mjs": (
            "the bridge by another client than viem; `make test` has them on several chains"
        )
        for client in ("zksync-ethers", "zksync-js")
    },
    "tests/packaging/test_web3_versions.py": "installs several versions of web3.py",
    "tests/packaging/test_action.py::test_a_wheel_is_installed_and_started": _INSTALLS,
    "tests/packaging/test_action.py::test_a_wrong_input_is_named[inputs0": _PROCESSES,
    "tests/packaging/test_action.py::test_a_wrong_flag_fails_with_the_log": _PROCESSES,
    "tests/packaging/test_wheel.py::test_the_source_distribution_builds_the_wheel": _INSTALLS,
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
