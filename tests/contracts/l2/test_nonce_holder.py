"""The nonces of contract accounts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.errors import ExecutionReverted
from entresol.rollup.system_contracts import NONCE_HOLDER
from tests.support.contracts.accounts import ScriptedWorld
from tests.support.contracts.layer_two import ALICE, calldata, failure

KEYED = 7 << 64


@pytest.fixture
def l2() -> Iterator[ScriptedWorld]:
    """Return an L2 at its genesis."""
    layer = ScriptedWorld()
    yield layer
    layer.close()


def reason(l2: ScriptedWorld, signature: str, *values: object, by: bytes = ALICE) -> bytes:
    """Return what a call of the nonce holder reverts with."""
    with pytest.raises(ExecutionReverted) as raised:
        l2.call(NONCE_HOLDER, calldata(signature, *values), sender=by)  # type: ignore[arg-type]
    return raised.value.data


def test_an_account_uses_its_next_nonce(l2: ScriptedWorld) -> None:
    account = l2.contract()
    use = "incrementMinNonceIfEquals(uint256)"
    assert l2.do(account, (NONCE_HOLDER, 0, calldata(use, 0))).succeeded
    assert l2.min_nonce(account) == 1
    mismatch = failure("ValueMismatch(uint256,uint256)", 0, 1)
    assert reason(l2, use, 0, by=account) == mismatch
    used = "isNonceUsed(address,uint256)(bool)"
    assert [l2.read(NONCE_HOLDER, used, account, nonce) for nonce in (0, 1)] == [True, False]


def test_a_nonce_jumps_by_a_limited_number(l2: ScriptedWorld) -> None:
    account = l2.contract()
    jump = "increaseMinNonce(uint256)"
    assert l2.do(account, (NONCE_HOLDER, 0, calldata(jump, 2**32))).succeeded
    assert l2.min_nonce(account) == 2**32
    for value in (0, 2**32 + 1):
        expected = failure("NonceIncreaseError(uint256,uint256,uint256)", 1, 2**32, value)
        assert reason(l2, jump, value, by=account) == expected


def test_a_key_has_a_counter_of_its_own(l2: ScriptedWorld) -> None:
    account = l2.contract()
    use = "incrementMinNonceIfEqualsKeyed(uint256)"
    assert l2.do(account, (NONCE_HOLDER, 0, calldata(use, KEYED))).succeeded
    keyed = "getKeyedNonce(address,uint192)(uint256)"
    assert l2.read(NONCE_HOLDER, keyed, account, 7) == KEYED + 1
    assert l2.read(NONCE_HOLDER, keyed, account, 0) == l2.min_nonce(account) == 0
    assert reason(l2, use, 0, by=account) == failure("InvalidNonceKey(uint192)", 0)
    mismatch = failure("ValueMismatch(uint256,uint256)", KEYED, KEYED + 1)
    assert reason(l2, use, KEYED, by=account) == mismatch


def test_the_usage_of_a_nonce_is_checked(l2: ScriptedWorld) -> None:
    account = l2.contract()
    check = "validateNonceUsage(address,uint256,bool)"
    assert l2.call(NONCE_HOLDER, calldata(check, account, 3, False)) == b""
    unused = failure("NonceNotUsed(address,uint256)", account, 3)
    assert reason(l2, check, account, 3, True) == unused
    l2.do(account, (NONCE_HOLDER, 0, calldata("increaseMinNonce(uint256)", 4)))
    used = failure("NonceAlreadyUsed(address,uint256)", account, 3)
    assert reason(l2, check, account, 3, False) == used


@pytest.mark.parametrize("function", ["getMinNonce(address)", "getRawNonce(address)"])
def test_nonces_of_keys_cannot_be_read(l2: ScriptedWorld, function: str) -> None:
    assert b"eth_getTransactionCount" in reason(l2, function, ALICE)


def test_both_nonces_share_a_word(l2: ScriptedWorld) -> None:
    account = l2.contract()
    l2.do(account, (NONCE_HOLDER, 0, calldata("increaseMinNonce(uint256)", 4)))
    assert l2.read(NONCE_HOLDER, "getRawNonce(address)(uint256)", account) == 4
    assert l2.read(NONCE_HOLDER, "getDeploymentNonce(address)(uint256)", account) == 0
