"""The paymaster of development chains."""

from __future__ import annotations

import pytest

from entresol.errors import AccountRejection, ExecutionReverted
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from tests.support.contracts.accounts import GAS, GENERAL, ScriptedWorld, T, approval_based
from tests.support.contracts.layer_two import ALICE, ETHER, FEE, calldata, failure

COST = GAS * FEE


def rejected(l2: ScriptedWorld, message: bytes) -> str:
    """Return why the paymaster does not pay."""
    transaction = l2.from_key(paymaster=TESTNET_PAYMASTER, paymaster_input=message)
    with pytest.raises(AccountRejection) as raised:
        l2.open().run(transaction)
    return raised.value.reason


def test_it_takes_what_was_approved(l2: ScriptedWorld) -> None:
    token = l2.token(amount=2 * COST)
    before = l2.balance(ALICE)
    message = approval_based(token, COST)
    result = l2.include(l2.from_key(paymaster=TESTNET_PAYMASTER, paymaster_input=message))
    assert result.succeeded
    assert l2.balance(ALICE) == before
    assert l2.token_balance(token, TESTNET_PAYMASTER) == COST
    assert l2.token_balance(token, ALICE) == COST
    assert l2.balance(TESTNET_PAYMASTER) == 100 * ETHER - result.gas_used * FEE


def test_less_than_the_fee_is_not_enough(l2: ScriptedWorld) -> None:
    token = l2.token(amount=2 * COST)
    reason = rejected(l2, approval_based(token, COST - 1))
    assert reason.startswith("Paymaster validation returned invalid magic value")


def test_general_is_free(l2: ScriptedWorld) -> None:
    result = l2.include(l2.from_key(paymaster=TESTNET_PAYMASTER, paymaster_input=GENERAL))
    assert l2.balance(TESTNET_PAYMASTER) == 100 * ETHER - result.gas_used * FEE


def test_tokens_that_the_sender_does_not_have_are_not_taken(l2: ScriptedWorld) -> None:
    token = l2.token(amount=1)
    message = approval_based(token, COST)
    with pytest.raises(AccountRejection):
        l2.open().run(l2.from_key(paymaster=TESTNET_PAYMASTER, paymaster_input=message))


def test_only_the_bootloader_asks_it(l2: ScriptedWorld) -> None:
    values = (0,) * 10
    transaction: tuple[object, ...] = (*values, [0] * 4, b"", b"", [], b"", b"")
    data = calldata(
        f"validateAndPayForPaymasterTransaction(bytes32,bytes32,{T})",
        bytes(32),
        bytes(32),
        transaction,
    )
    with pytest.raises(ExecutionReverted) as raised:
        l2.call(TESTNET_PAYMASTER, data)
    assert raised.value.data == failure("Unauthorized(address)", ALICE)
    with pytest.raises(ExecutionReverted) as raised:
        l2.call(TESTNET_PAYMASTER, data, sender=BOOTLOADER)
    assert raised.value.data == failure("InvalidInput()")
