"""The example paymaster that sponsors a list of senders."""

from __future__ import annotations

import pytest

from entresol.errors import AccountRejection
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import ScriptedWorld, approval_based, fill, sign_by
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    FEE,
    SECRETS,
    artifact_for_tests,
    calldata,
)


@pytest.fixture
def paymaster(l2: ScriptedWorld) -> Address:
    """Deploy a paymaster of Alice's that sponsors Bob."""
    paymaster = l2.deploy(artifact_for_tests("SponsorPaymaster"), "(address[])", [BOB])
    assert l2.send(paymaster, b"", value=ETHER).succeeded
    return paymaster


def test_it_pays_for_a_sender_on_its_list(l2: ScriptedWorld, paymaster: Address) -> None:
    before = l2.balance(BOB)
    InlineSequencer(l2.chain).submit(l2.from_key(1, paymaster=paymaster, value=3).raw)
    assert l2.balance(BOB) == before - 3
    assert l2.balance(paymaster) == ETHER - l2.last().gas_used * FEE


def test_it_pays_for_no_other_sender(l2: ScriptedWorld, paymaster: Address) -> None:
    with pytest.raises(AccountRejection, match=calldata("NotSponsored(address)", ALICE).hex()):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=paymaster).raw)


def test_its_owner_changes_the_list(l2: ScriptedWorld, paymaster: Address) -> None:
    account = l2.multisig()
    add = calldata("setSponsored(address,bool)", account, True)
    remove = calldata("setSponsored(address,bool)", account, False)
    assert l2.send(paymaster, add).succeeded
    first = fill(account, paymaster=paymaster)
    InlineSequencer(l2.chain).submit(sign_by(first, *SECRETS).encode())
    assert l2.balance(account) == ETHER
    assert l2.send(paymaster, remove).succeeded
    second = fill(account, nonce=1, paymaster=paymaster)
    with pytest.raises(AccountRejection):
        InlineSequencer(l2.chain).submit(sign_by(second, *SECRETS).encode())


def test_a_sponsored_sender_does_not_change_it(l2: ScriptedWorld, paymaster: Address) -> None:
    for data in (
        calldata("setSponsored(address,bool)", ALICE, True),
        calldata("withdraw(uint256)", 1),
    ):
        assert not l2.send(paymaster, data, by=1).succeeded
    assert l2.balance(paymaster) == ETHER


def test_its_owner_withdraws_ether(l2: ScriptedWorld, paymaster: Address) -> None:
    assert l2.send(paymaster, calldata("withdraw(uint256)", ETHER)).succeeded
    assert l2.balance(paymaster) == 0


def test_it_takes_no_tokens(l2: ScriptedWorld, paymaster: Address) -> None:
    token = l2.token(BOB)
    transaction = l2.from_key(1, paymaster=paymaster, paymaster_input=approval_based(token, 1))
    reason = calldata("UnsupportedPaymasterFlow()").hex()
    with pytest.raises(AccountRejection, match=reason):
        InlineSequencer(l2.chain).submit(transaction.raw)
