"""The example factory of multisig accounts."""

from __future__ import annotations

import pytest

from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import NOBODY, ScriptedWorld, fill, sign_by
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    SECRETS,
    artifact_for_tests,
    calldata,
    logs_of,
    padded,
    topic,
)

OWNERS = ([ALICE, BOB], 2)
DEPLOY = "deployAccount(bytes32,address[],uint256)"
SALT = b"\x05" * 32


@pytest.fixture
def factory(l2: ScriptedWorld) -> Address:
    """Deploy the factory."""
    return l2.deploy(artifact_for_tests("AccountFactory"))


def address(l2: ScriptedWorld, factory: Address, salt: bytes = SALT) -> Address:
    """Return where an account of Alice and Bob is."""
    function = "accountAddress(bytes32,address[],uint256)(address)"
    return Address.parse(l2.read(factory, function, salt, *OWNERS))


def test_an_account_has_ether_before_it_is_deployed(l2: ScriptedWorld, factory: Address) -> None:
    account = address(l2, factory)
    assert l2.send(account, b"", value=ETHER).succeeded
    deployed = l2.send(factory, calldata(DEPLOY, SALT, *OWNERS))
    event = topic("AccountDeployed(address,address[],uint256)")
    ((_, topics, _),) = logs_of(deployed, factory, event)
    assert topics[1] == padded(account)
    InlineSequencer(l2.chain).submit(sign_by(fill(account, value=5), *SECRETS).encode())
    assert l2.balance(NOBODY) == 5


def test_an_account_is_deployed_once(l2: ScriptedWorld, factory: Address) -> None:
    assert l2.send(factory, calldata(DEPLOY, SALT, *OWNERS)).succeeded
    assert not l2.send(factory, calldata(DEPLOY, SALT, *OWNERS), by=1).succeeded


def test_an_account_deploys_through_the_factory(l2: ScriptedWorld, factory: Address) -> None:
    """An account's own transaction may create another account."""
    first = l2.multisig()
    payload = fill(first, to=factory, data=calldata(DEPLOY, SALT, *OWNERS), gas_limit=3_000_000)
    InlineSequencer(l2.chain).submit(sign_by(payload, *SECRETS).encode())
    assert l2.last().succeeded
    assert l2.min_nonce(address(l2, factory)) == 0
