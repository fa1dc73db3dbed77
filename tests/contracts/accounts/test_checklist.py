"""The checklist of contract accounts and paymasters, and the tests that show each item."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[2]
HERE: Final = "contracts/accounts"
EXECUTION: Final = f"{HERE}/test_execution.py"
POOL: Final = f"{HERE}/test_pool.py"
ESTIMATES: Final = f"{HERE}/test_estimates.py"
VECTORS: Final = f"{HERE}/test_vectors.py"
OLD: Final = f"{HERE}/test_old_chains.py"
NODE: Final = "integration/test_account_transactions.py"
ZKSYNC2: Final = "clients/test_accounts_zksync2.py"

CHECKLIST: Final[dict[int, tuple[str, str, str]]] = {
    1: ("a key that pays itself is like type 2", EXECUTION, "test_a_key_that_pays_itself_is_like_type_2"),
    2: ("selectors", VECTORS, "test_functions_have_the_selectors_of_the_network"),
    3: ("calldata of the vectors", VECTORS, "test_a_contract_account_is_called_as_the_vectors_say"),
    4: ("either form of a signature, one hash", POOL, "test_both_forms_of_a_signature_are_one_transaction"),
    5: ("v of 0 or 1, high s, 64 bytes", POOL, "test_a_key_signs_in_one_way_only"),
    6: ("the signature of another key", POOL, "test_a_key_does_not_sign_for_another"),
    7: ("system contracts neither send nor pay", POOL, "test_a_system_contract_neither_sends_nor_pays"),
    8: ("a plain contract as sender", POOL, "test_a_plain_contract_cannot_send"),
    9: ("updateAccountVersion", EXECUTION, "test_a_contract_is_an_account_while_it_says_so"),
    10: ("a version without code", EXECUTION, "test_a_version_without_code_changes_nothing_for_a_key"),
    11: ("the first nonce is 0", EXECUTION, "test_the_first_nonce_of_a_contract_account_is_0"),
    12: ("nonce too low; a gap waits", POOL, "test_a_used_nonce_is_too_low_and_a_gap_waits"),
    13: ("an account that marks no nonce", EXECUTION, "test_an_account_has_to_mark_its_nonce"),
    14: ("jumps", EXECUTION, "test_an_account_may_jump_over_nonces"),
    15: ("nonce has max value", POOL, "test_a_nonce_beyond_32_bits_is_rejected"),
    16: ("31 or 64 bytes, a dirty tail", EXECUTION, "test_an_account_agrees_by_exactly_one_word"),
    17: ("a zero magic in an estimate", ESTIMATES, "test_a_zero_magic_is_ignored_and_a_missing_nonce_mark_is_not"),
    18: ("a wei short, exact, more", EXECUTION, "test_what_is_more_than_the_fee_is_back_before_the_execution"),
    19: ("a base fee above the cap", EXECUTION, "test_an_offer_below_the_base_fee_is_rejected"),
    20: ("inputs of the flows", EXECUTION, "test_a_key_prepares_for_what_it_knows"),
    21: ("enough allowance", EXECUTION, "test_an_allowance_becomes_exactly_what_the_paymaster_needs"),
    22: ("a smaller allowance", EXECUTION, "test_an_allowance_becomes_exactly_what_the_paymaster_needs"),
    23: ("tokens without code, false, nothing", EXECUTION, "test_a_token_answers_with_true_or_nothing"),
    24: ("the approval is from the sender", EXECUTION, "test_a_key_without_ether_pays_by_token"),
    25: ("a key without ether", EXECUTION, "test_a_key_without_ether_pays_by_token"),
    26: ("value above the balance", EXECUTION, "test_the_sender_of_a_sponsored_transaction_has_its_value"),
    27: ("a paymaster without ether", EXECUTION, "test_a_paymaster_without_ether_changes_nothing"),
    28: ("contexts", EXECUTION, "test_a_context_that_is_none_is_rejected"),
    29: ("a reverted execution", EXECUTION, "test_a_reverted_execution_keeps_what_came_before"),
    30: ("out of gas", EXECUTION, "test_an_execution_that_halts_costs_everything"),
    31: ("post-transaction reverts", EXECUTION, "test_a_failed_post_transaction_undoes_only_itself"),
    32: ("post-transaction eats all gas", EXECUTION, "test_a_failed_post_transaction_undoes_only_itself"),
    33: ("the refund is the paymaster's", EXECUTION, "test_the_refund_goes_to_the_paymaster"),
    34: ("the supply adds up", "properties/test_account_fees.py", "test_fees_are_conserved_and_only_the_payer_pays"),
    35: ("ether to 0x8001", EXECUTION, "test_nobody_sends_ether_to_the_bootloader_but_to_pay"),
    36: ("origins", EXECUTION, "test_the_origin_of_a_keys_execution_is_the_key"),
    37: ("a reverted execution keeps the nonce", "properties/test_account_fees.py", "test_fees_are_conserved_and_only_the_payer_pays"),
    38: ("no gas after the payment", EXECUTION, "test_a_transaction_without_gas_for_its_execution_is_rejected"),
    39: ("transient storage and warm slots", EXECUTION, "test_transient_storage_and_warm_slots_are_shared_by_the_steps"),
    40: ("an estimate without ether", ESTIMATES, "test_a_sender_without_ether_has_an_estimate_with_a_paymaster"),
    41: ("an estimate of an account without type", ESTIMATES, "test_the_estimate_of_a_multisig_transaction_suffices"),
    42: ("an owner's estimate", ESTIMATES, "test_the_estimate_of_an_owner_suffices_for_the_account"),
    43: ("an estimate sends", ESTIMATES, "test_an_estimate_used_as_the_limit_succeeds"),
    44: ("eth_call with a paymaster", NODE, "test_a_call_ignores_the_paymaster"),
    45: ("texts", POOL, "test_steps_of_an_account_are_told_apart"),
    46: ("rule breakers", POOL, "test_a_validation_reads_nothing_that_others_change"),
    47: ("what a validation may read", POOL, "test_a_validation_reads_what_belongs_to_the_sender"),
    48: ("debts and limits", POOL, "test_a_paymaster_promises_no_ether_twice"),
    49: ("a state that has changed", POOL, "test_what_has_become_invalid_is_dropped_and_the_block_goes_on"),
    50: ("a delegated sender", EXECUTION, "test_a_delegated_sender_is_asked_by_its_key"),
    51: ("one root in a trace", EXECUTION, "test_a_trace_has_one_root"),
    52: ("restart and replay", NODE, "test_a_killed_node_has_the_same_blocks_and_nonces"),
    53: ("an old chain", OLD, "test_its_contracts_are_no_accounts"),
    54: ("messages to L1", EXECUTION, "test_messages_of_all_steps_reach_l1"),
    55: ("zks_getRawBlockTransactions", NODE, "test_the_testnet_paymaster_is_free"),
    56: ("balances as the suites expect", ZKSYNC2, "test_ether_is_transferred"),
}  # fmt: skip
"""Item of `accounts.md` §8: what it is about, the file, and the test; some items have further tests beside it."""

ATTACKS: Final[dict[str, tuple[str, str]]] = {
    "a reentrant paymaster": (f"{HERE}/test_attacks.py", "test_a_reentrant_paymaster_gets_no_second_fee"),
    "a paymaster that returns a bomb": (f"{HERE}/test_attacks.py", "test_a_paymaster_that_returns_a_bomb_is_rejected"),
    "a validation that writes": (f"{HERE}/test_attacks.py", "test_a_validation_that_writes_for_others_is_not_admitted"),
    "a long context": (f"{HERE}/test_attacks.py", "test_a_context_of_many_kilobytes_is_rejected"),
    "postTransaction eats all gas": (EXECUTION, "test_a_failed_post_transaction_undoes_only_itself"),
    "nonces are reused through jumps": (f"{HERE}/test_attacks.py", "test_a_jump_reuses_no_nonce"),
    "an account destroys itself while it pays": (
        f"{HERE}/test_attacks.py",
        "test_an_account_that_destroys_itself_while_it_pays_gets_only_its_change",
    ),
    "an account changes its code while it pays": (
        f"{HERE}/test_attacks.py",
        "test_an_account_that_changes_its_code_while_it_pays_gets_only_its_change",
    ),
    "a flood of validations that fail late": (
        "integration/test_floods.py",
        "test_late_failures_of_validations_cost_no_more_than_bad_signatures",
    ),
}  # fmt: skip


def has_test(file: str, name: str) -> bool:
    """Return whether a file has a test."""
    text = (TESTS / file).read_text(encoding="utf-8")
    return re.search(rf"^def {name}\(", text, re.MULTILINE) is not None


def test_no_item_is_missing() -> None:
    assert list(CHECKLIST) == list(range(1, 57))


@pytest.mark.parametrize("item", CHECKLIST)
def test_an_item_has_its_test(item: int) -> None:
    _, file, name = CHECKLIST[item]
    assert has_test(file, name)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_has_its_test(attack: str) -> None:
    assert has_test(*ATTACKS[attack])
