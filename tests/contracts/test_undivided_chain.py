"""The contract of a chain that an earlier version deployed, without facets, beside the contracts of today."""

from __future__ import annotations

import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.addresses import create_address
from entresol.primitives.values import Address
from tests.support.contracts.batches import stored
from tests.support.contracts.engine import ETHER, Contract, selector, types
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    DEPLOYER,
    ETH_TOKEN,
    L2_BASE_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    chain_settings,
    direct,
)
from tests.support.contracts.merkle_trees import proof_of
from tests.support.rollup.messages import message_log
from tests.support.upgrade.undivided_chain import creation_code

ADDED = {
    "requestL2ServiceTransaction",
    "isDevelopment",
    "getClockLimits",
    "getLastBlockTimestamp",
    "publishGenesis",
}
"""Functions that chains have had since."""


@pytest.fixture
def undivided(l1: Deployed) -> Contract:
    """Return a registered chain whose contract has no facets."""
    settings = chain_settings(
        *(it.address for it in (l1.bridgehub, l1.manager, l1.timelock, l1.verifier, *l1.facets)),
        chain_id=OTHER_CHAIN_ID,
    )
    (constructor,) = [it for it in l1.chain.artifact.abi if it["type"] == "constructor"]
    encoded = abi.encode(types(constructor["inputs"]), [settings])
    chain = Contract(create_address(DEPLOYER, l1.engine.nonce(DEPLOYER)), l1.chain.artifact)
    l1.engine.send_data(DEPLOYER, None, creation_code(encoded))
    l1.engine.send(
        DEPLOYER, l1.bridgehub, "registerChain",
        OTHER_CHAIN_ID, l1.manager.address, chain.address, asset_id(ETH_TOKEN),
        keccak256(stored(l1.genesis.stored())),
    )  # fmt: skip
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", chain.address, OPERATOR)
    return chain


def test_deposits_batches_and_withdrawals_go_on(l1: Deployed, undivided: Contract) -> None:
    asked = direct(chain_id=OTHER_CHAIN_ID)
    l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionDirect", asked, value=ETHER)
    assert [it.name for it in l1.engine.events(undivided)][-1] == "NewPriorityRequest"
    l1.engine.send(ALICE, undivided, "requestL2Transaction", *asked[2:], value=ETHER)
    message = bytes.fromhex("6c0960f9") + BOB + (7).to_bytes(32)
    log = message_log(0, L2_BASE_TOKEN, message)
    batch = l1.settle(log, chain=undivided, execute_version=1)
    before = l1.engine.balance(BOB)
    claim = (OTHER_CHAIN_ID, batch, 0, L2_BASE_TOKEN, 0, message, proof_of([log], 0))
    l1.engine.send(ALICE, l1.nullifier, "finalizeDeposit", claim)
    assert l1.engine.balance(BOB) == before + 7


def test_it_has_every_function_of_its_time_as_its_own(l1: Deployed, undivided: Contract) -> None:
    functions = [
        it for it in undivided.artifact.abi if it["type"] == "function" and it["name"] not in ADDED
    ]
    served = tuple(sorted(map(selector, functions)))
    assert l1.engine.read(undivided, "facets") == ((str(undivided.address), served),)
    assert Address.parse(l1.engine.read(undivided, "getVerifier")) == l1.verifier.address
