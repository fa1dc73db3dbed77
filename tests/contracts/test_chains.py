"""Registration, getters and access control of chains, and which of their functions is in which facet."""

from __future__ import annotations

from typing import Any

import pytest

from entresol import contracts
from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.batches import Batch, stored
from tests.support.contracts.engine import (
    ETHER,
    L1_CHAIN_ID,
    Contract,
    Reverted,
    reverted,
    selector,
    signature,
)
from tests.support.contracts.l1_contracts import (
    ALICE,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    chain_settings,
    direct,
)

ZERO = Address.zero()


def test_getters_of_an_unknown_chain_return_zero(l1: Deployed) -> None:
    for contract, function in (
        (l1.bridgehub, "getZKChain"),
        (l1.bridgehub, "getHyperchain"),
        (l1.bridgehub, "chainTypeManager"),
        (l1.bridgehub, "baseToken"),
        (l1.manager, "getZKChain"),
        (l1.router, "l2BridgeAddress"),
        (l1.nullifier, "l2BridgeAddress"),
    ):
        assert Address.parse(l1.engine.read(contract, function, 999)) == ZERO


def register(l1: Deployed, chain: Contract, *, chain_id: int = OTHER_CHAIN_ID,
             asset: bytes = asset_id(ETH_TOKEN), genesis: bytes = b"\1" * 32,
             sender: Address = DEPLOYER) -> None:  # fmt: skip
    l1.engine.send(
        sender, l1.bridgehub, "registerChain",
        chain_id, l1.manager.address, chain.address, asset, genesis,
    )  # fmt: skip


@pytest.fixture
def new_chain(l1: Deployed) -> Contract:
    return l1.new_chain()


def test_a_chain_is_registered(l1: Deployed, new_chain: Contract) -> None:
    register(l1, new_chain)
    (event,) = l1.engine.events(l1.bridgehub)
    assert event.name == "NewChain"
    assert event.fields == {
        "chainId": OTHER_CHAIN_ID,
        "chainTypeManager": str(l1.manager.address),
        "chainGovernance": str(DEPLOYER),
    }


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"sender": ALICE}, "Unauthorized"),
        ({"chain_id": 0}, "InvalidChainId"),
        ({"chain_id": L1_CHAIN_ID}, "InvalidChainId"),
        ({"chain_id": CHAIN_ID}, "ChainIdAlreadyExists"),
        ({"chain_id": 272}, "ChainIdMismatch"),
        ({"asset": b"\1" * 32}, "AssetIdNotSupported"),
        ({"genesis": bytes(32)}, "EmptyGenesisBatchHash"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_wrong_registration_is_rejected(
    l1: Deployed, new_chain: Contract, changes: dict[str, Any], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        register(l1, new_chain, **changes)


def test_a_chain_is_initialised_by_the_bridgehub_alone(l1: Deployed, new_chain: Contract) -> None:
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(DEPLOYER, new_chain, "initialize", bytes(32), b"\1" * 32)
    with pytest.raises(Reverted, match="AlreadyInitialized"):
        l1.engine.send(l1.bridgehub.address, l1.chain, "initialize", bytes(32), b"\1" * 32)


def test_a_chain_commits_no_batch_before_its_registration(
    l1: Deployed, new_chain: Contract
) -> None:
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", new_chain.address, ALICE)
    data = Batch(number=1, chain_id=OTHER_CHAIN_ID).commit_data(l1.genesis)
    with pytest.raises(Reverted, match="BatchHashMismatch"):
        l1.engine.send(
            ALICE, l1.timelock, "commitBatchesSharedBridge", new_chain.address, 1, 1, data
        )


# --- Who decides ---


SETTLE = ("commitBatchesSharedBridge", "proveBatchesSharedBridge", "executeBatchesSharedBridge")
GUARDED = {
    "bridgehub": ["registerSettlementLayer", "registerChain", "transferOwnership"],
    "chain": [
        *(
            "setPendingAdmin",
            "setValidator",
            "changeFeeParams",
            "setTokenMultiplier",
            "acceptAdmin",
        ),
        *("setPriorityTxMaxGasLimit", "publishGenesis", "bridgehubRequestL2Transaction"),
        *("requestL2ServiceTransaction", *SETTLE, "revertBatchesSharedBridge"),
    ],
    "router": [
        *("bridgehubDeposit", "bridgehubDepositBaseToken", "bridgehubConfirmL2Transaction"),
        *("transferFundsToNTV", "finalizeDeposit"),
        "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes)",
    ],
    "vault": [
        *("bridgeBurn", "bridgeMint", "bridgeRecoverFailedTransfer"),
        *("moveChainBalance", "ensureAssetOfChain"),
    ],
    "nullifier": ["bridgehubConfirmL2TransactionForwarded"],
    "message_root": ["addNewChain", "bookBundle"],
    "timelock": [*SETTLE, "revertBatchesSharedBridge", "setExecutionDelay"],
}


@pytest.mark.parametrize(
    ("contract", "function"), [(name, it) for name, found in GUARDED.items() for it in found]
)
def test_a_stranger_may_not_call(l1: Deployed, contract: str, function: str) -> None:
    target: Contract = getattr(l1, contract)
    for sender in (ALICE, OPERATOR):
        if sender == OPERATOR and contract == "timelock" and function != "setExecutionDelay":
            continue
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(sender, target, function, *target.defaults(function))


@pytest.mark.parametrize("function", ["addValidator", "removeValidator"])
def test_only_the_admin_of_a_chain_sets_its_validators(l1: Deployed, function: str) -> None:
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(OPERATOR, l1.timelock, function, l1.chain.address, ALICE)


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("setTokenMultiplier", (1, 0), "DenominatorIsZero"),
        ("setTokenMultiplier", (0, 1), "NominatorIsZero"),
        ("changeFeeParams", ((0, 1, 0, 1, 0, 1),), "InvalidFeeParams"),
        ("changeFeeParams", ((0, 1, 1, 0, 0, 1),), "InvalidFeeParams"),
        ("changeFeeParams", ((0, 1, 1, 1, 2, 1),), "InvalidFeeParams"),
    ],
)
def test_settings_that_would_stop_requests_are_rejected(
    l1: Deployed, function: str, arguments: tuple[object, ...], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        l1.engine.send(DEPLOYER, l1.chain, function, *arguments)


def test_an_admin_is_replaced_in_two_steps(l1: Deployed) -> None:
    l1.engine.send(DEPLOYER, l1.chain, "setPendingAdmin", ALICE)
    assert l1.engine.read(l1.chain, "getAdmin") == str(DEPLOYER)
    l1.engine.send(ALICE, l1.chain, "acceptAdmin")
    assert l1.engine.read(l1.chain, "getAdmin") == str(ALICE)
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(DEPLOYER, l1.chain, "setPendingAdmin", DEPLOYER)


def test_an_owner_is_replaced_in_two_steps(l1: Deployed) -> None:
    for contract in (l1.bridgehub, l1.timelock):
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(ALICE, contract, "transferOwnership", ALICE)
        l1.engine.send(DEPLOYER, contract, "transferOwnership", ALICE)
        assert l1.engine.read(contract, "owner") == str(DEPLOYER)
        l1.engine.send(ALICE, contract, "acceptOwnership")
        assert l1.engine.read(contract, "owner") == str(ALICE)
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(DEPLOYER, contract, "acceptOwnership")


FACETS = ("MailboxFacet", "ExecutorFacet")
NO_FACET = Address(b"\xfa" * 20)
SLOTS = 20


def functions(name: str) -> list[dict[str, Any]]:
    return [entry for entry in contracts.artifact(name).abi if entry["type"] == "function"]


def selectors(name: str) -> set[bytes]:
    return {selector(function) for function in functions(name)}


def own_selectors() -> set[bytes]:
    return selectors("ZKChain") - selectors("MailboxFacet") - selectors("ExecutorFacet")


def test_a_chain_names_the_facets_of_all_functions(l1: Deployed) -> None:
    addresses = tuple(str(facet.address) for facet in (l1.chain, *l1.facets))
    # If a function was added: the constants in Facets.sol are these, joined.
    served = [tuple(sorted(it)) for it in (own_selectors(), *map(selectors, FACETS))]
    ask = l1.engine.read
    assert ask(l1.chain, "facetAddresses") == addresses
    assert ask(l1.chain, "facets") == tuple(zip(addresses, served, strict=True))
    for address, known in zip(addresses, served, strict=True):
        assert ask(l1.chain, "facetFunctionSelectors", address) == known
        assert {ask(l1.chain, "facetAddress", it) for it in known} == {address}
    assert ask(l1.chain, "facetFunctionSelectors", l1.vault.address) == ()
    assert ask(l1.chain, "facetAddress", b"\xff\xff\xff\xff") == str(Address.zero())


@pytest.mark.parametrize(
    "data",
    [
        keccak256(b"diamondCut((address,uint8,bytes4[])[],address,bytes)")[:4],
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\xff" + bytes(64),
        bytes(4),
        b"\x0d\xb9\xeb",
        b"",
    ],
    ids=["an upgrade", "no function", "with arguments", "zeros", "three bytes", "nothing"],
)
@pytest.mark.parametrize("value", [0, 1])
def test_an_unknown_function_is_rejected_by_name(l1: Deployed, data: bytes, value: int) -> None:
    with reverted("UnknownSelector", data[:4].ljust(4, b"\0")):
        l1.engine.send_data(ALICE, l1.chain.address, data, value)
    assert l1.engine.balance(l1.chain.address) == 0


def test_a_function_that_takes_no_ether_rejects_it_in_a_facet_too(l1: Deployed) -> None:
    data = l1.chain.encode("proveL2LeafInclusion", 1, 0, bytes(32), [bytes(32)])
    with pytest.raises(Reverted, match="nothing"):
        l1.engine.send_data(ALICE, l1.chain.address, data, 1)


FACET_FUNCTIONS = [
    (place, function) for place, name in enumerate(FACETS) for function in functions(name)
]


@pytest.mark.parametrize(
    ("place", "entry"), FACET_FUNCTIONS, ids=lambda it: "" if isinstance(it, int) else it["name"]
)
def test_a_facet_does_nothing_by_itself(l1: Deployed, place: int, entry: dict[str, Any]) -> None:
    facet = l1.facets[place]
    for sender in (ALICE, DEPLOYER, OPERATOR, l1.bridgehub.address, l1.timelock.address):
        with pytest.raises(Reverted, match="OnlyThroughChain"):
            l1.engine.send(sender, facet, signature(entry), *facet.defaults(signature(entry)))


def test_chains_share_facets_and_nothing_else(l1: Deployed) -> None:
    other = l1.add_chain()
    l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionDirect", direct(), value=ETHER)
    l1.settle()
    l1.settle()
    l1.settle(chain=other)
    ask = l1.engine.read
    assert ask(other, "facetAddresses")[1:] == ask(l1.chain, "facetAddresses")[1:]
    assert [ask(it, "getChainId") for it in (l1.chain, other)] == [CHAIN_ID, OTHER_CHAIN_ID]
    assert [ask(it, "getTotalPriorityTxs") for it in (l1.chain, other)] == [1, 0]
    assert [ask(it, "getTotalBatchesExecuted") for it in (l1.chain, other)] == [2, 1]
    for facet in l1.facets:
        slots = [
            l1.engine.overlay.slot(facet.address, Hash32(number.to_bytes(32)))
            for number in range(SLOTS)
        ]
        assert not any(map(any, slots))


def test_facets_have_the_variables_of_the_chain_and_no_others() -> None:
    chain, mailbox, executor = (
        contracts.artifact(facet).storage_layout for facet in ("ZKChain", *FACETS)
    )
    assert chain == mailbox == executor


def chain_with(l1: Deployed, mailbox: Address, executor: Address, **fields: Any) -> Contract:
    settings = chain_settings(
        *(it.address for it in (l1.bridgehub, l1.manager, l1.timelock, l1.verifier)),
        mailbox,
        executor,
        **{"chain_id": OTHER_CHAIN_ID, **fields},
    )
    return l1.engine.deploy("ZKChain", settings, sender=DEPLOYER)


@pytest.mark.parametrize("missing", [0, 1])
def test_a_chain_is_not_registered_before_its_facets_exist(l1: Deployed, missing: int) -> None:
    facets = [facet.address for facet in l1.facets]
    facets[missing] = NO_FACET
    chain = chain_with(l1, *facets)
    with reverted("FacetWithoutCode", str(NO_FACET)):
        register(l1, chain)


def test_a_chain_whose_facets_do_not_exist_yet_keeps_no_ether(l1: Deployed) -> None:
    chain = chain_with(l1, NO_FACET, NO_FACET)
    with pytest.raises(Reverted, match="FacetWithoutCode"):
        l1.engine.send(ALICE, chain, "requestL2Transaction", *direct()[2:], value=ETHER)


def test_a_chain_id_that_does_not_fit_is_rejected(l1: Deployed) -> None:
    facets = [facet.address for facet in l1.facets]
    chain_with(l1, *facets, chain_id=2**64 - 1)
    with reverted("ChainIdTooLarge", 2**64):
        chain_with(l1, *facets, chain_id=2**64)


@pytest.fixture
def hostile(l1: Deployed) -> Contract:
    """Return a contract that does what a test tells it."""
    return l1.engine.deploy("ScriptedContract", sender=DEPLOYER)


def script(
    l1: Deployed, hostile: Contract, called: bytes, output: bytes, *calls: tuple[Any, ...]
) -> None:
    entry = (called, list(calls), 0, output, False)
    l1.engine.send(DEPLOYER, hostile, "script", *entry)


def chain_of(l1: Deployed, hostile: Contract) -> Contract:
    """Return a chain of which bridgehub, timelock and verifier are one hostile contract."""
    mailbox = l1.engine.deploy("MailboxFacet", hostile.address, sender=DEPLOYER)
    settings = chain_settings(
        *(hostile.address, l1.manager.address, hostile.address, hostile.address),
        *(mailbox.address, l1.facets[1].address),
    )
    chain = l1.engine.deploy("ZKChain", settings, sender=DEPLOYER)
    genesis = keccak256(stored(l1.genesis.stored()))
    l1.engine.send(hostile.address, chain, "initialize", asset_id(ETH_TOKEN), genesis)
    return chain


def test_a_verifier_does_not_enter_the_mailbox_while_a_batch_is_proven(
    l1: Deployed, hostile: Contract
) -> None:
    chain = chain_of(l1, hostile)
    batch = Batch(number=1)
    send = l1.engine.send
    commit = (chain.address, 1, 1, batch.commit_data(l1.genesis))
    send(hostile.address, chain, "commitBatchesSharedBridge", *commit)
    verify = l1.verifier.encode("verify", [], [])[:4]
    request = chain.encode("requestL2Transaction", *direct()[2:])
    script(l1, hostile, verify, b"", (chain.address, 0, request, False))
    proof = batch.prove_data(l1.genesis)
    with pytest.raises(Reverted, match="Reentrancy"):
        send(hostile.address, chain, "proveBatchesSharedBridge", chain.address, 1, 1, proof)


@pytest.mark.parametrize("step", ["commit", "prove", "execute", "revert"])
def test_a_bridge_does_not_enter_the_executor_while_a_request_is_made(
    l1: Deployed, hostile: Contract, step: str
) -> None:
    chain = chain_of(l1, hostile)
    batch = Batch(number=1)
    data = {
        "commit": (1, 1, batch.commit_data(l1.genesis)),
        "prove": (1, 1, batch.prove_data(l1.genesis)),
        "execute": (1, 1, batch.execute_data()),
        "revert": (0,),
    }
    settle = chain.encode(f"{step}BatchesSharedBridge", chain.address, *data[step])
    asked = l1.bridgehub.encode("assetRouter")
    script(l1, hostile, asked, hostile.address.rjust(32, b"\0"))
    deposit = "bridgehubDepositBaseToken"
    paid = l1.router.encode(deposit, *l1.router.defaults(deposit))[:4]
    script(l1, hostile, paid, b"", (chain.address, 0, settle, False))
    with pytest.raises(Reverted, match="Reentrancy"):
        l1.engine.send(ALICE, chain, "requestL2Transaction", *direct()[2:], value=ETHER)
    script(l1, hostile, paid, b"")
    l1.engine.send(ALICE, chain, "requestL2Transaction", *direct()[2:], value=ETHER)
