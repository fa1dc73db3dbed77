"""Attacks across contracts of L1, each from an outsider's or a hostile token's side."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import mint_of
from tests.support.contracts.engine import (
    ETHER,
    L1_CHAIN_ID,
    Contract,
    Reverted,
    alias,
    error_of,
    find,
)
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    L2_BASE_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
    direct,
    two_bridges,
)
from tests.support.contracts.merkle_trees import AGGREGATED_ROOT, message_log, path_of
from tests.support.contracts.requests import (
    asset_message,
    claim,
    deposit,
    deposit_ether,
    deposit_token,
    ether_message,
    finalize,
    new_form,
    request,
    status_proof,
    token_message,
)

MALLORY = Address(b"\x3a" * 20)
TWO_BRIDGES_MAGIC = (int.from_bytes(keccak256(b"TWO_BRIDGES_MAGIC_VALUE")) - 1).to_bytes(32)


def requested(l1: Deployed) -> tuple[Any, ...]:
    event = l1.engine.event(l1.chain, "NewPriorityRequest")
    transaction: tuple[Any, ...] = event.fields["transaction"]
    return transaction


def receiver_on_l2(l1: Deployed) -> Address:
    _, _, mint = abi.decode(["uint256", "bytes32", "bytes"], requested(l1)[11][4:])
    return Address.parse(abi.decode(["address", "address"], mint)[1])


# --- Acting as a contract that others trust ---


def constant(data: bytes) -> bytes:
    size = len(data).to_bytes(2).hex()
    return bytes.fromhex(f"61{size}600c5f3961{size}5ff3") + data


@pytest.mark.parametrize(
    "trusted", ["bridgehub", "chain", "nullifier", "vault", "timelock", "legacy_bridge"]
)
def test_no_contract_of_the_bridge_is_usable_as_a_second_bridge(l1: Deployed, trusted: str) -> None:
    # The bridgehub calls the second bridge in its own name.
    bridge: Contract = getattr(l1, trusted)
    asked = two_bridges(bridge.address, b"\x01")
    with pytest.raises(Reverted, match=r"nothing|UnknownSelector"):
        l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionTwoBridges", asked, value=ETHER)


def test_a_hostile_second_bridge_acts_on_l2_under_its_own_alias(l1: Deployed) -> None:
    mint = l1.router.encode("finalizeDeposit", L1_CHAIN_ID, bytes(32), b"")
    inner: tuple[object, ...] = (TWO_BRIDGES_MAGIC, L2_ASSET_ROUTER, mint, [], keccak256(b"forged"))
    answer = abi.encode(["(bytes32,address,bytes,bytes[],bytes32)"], [inner])
    l1.engine.overlay.set_code(MALLORY, constant(answer))
    asked = two_bridges(MALLORY, b"")
    tx_hash = l1.engine.send(
        ALICE, l1.bridgehub, "requestL2TransactionTwoBridges", asked, value=ETHER
    )
    sender, receiver = requested(l1)[1:3]
    assert sender.to_bytes(20) == alias(MALLORY)
    assert receiver.to_bytes(20) == L2_ASSET_ROUTER
    # And it leaves no deposit that could be claimed back.
    assert l1.engine.read(l1.nullifier, "depositHappened", CHAIN_ID, tx_hash) == bytes(32)


def test_a_contract_that_poses_as_a_chain_gets_nothing_from_the_timelock(l1: Deployed) -> None:
    fake = Contract(MALLORY, l1.chain.artifact)
    l1.engine.overlay.set_code(MALLORY, constant(BOB.rjust(32, b"\0")))
    l1.engine.send(BOB, l1.timelock, "addValidator", fake.address, BOB)
    arguments = (1, 1, b"")
    l1.engine.send(BOB, l1.timelock, "commitBatchesSharedBridge", fake.address, *arguments)
    for step in ("commit", "prove", "execute"):
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(
                BOB, l1.timelock, f"{step}BatchesSharedBridge", l1.chain.address, *arguments
            )
    assert not l1.engine.read(l1.timelock, "validators", l1.chain.address, BOB)
    assert l1.engine.read(l1.timelock, "getCommittedBatchTimestamp", l1.chain.address, 1) == 0


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("ether withdrawal", "request"),
        ("ether withdrawal", "request by the chain"),
        ("ether withdrawal", "withdrawal"),
        ("ether withdrawal", "withdrawal by the chain"),
        ("token withdrawal", "withdrawal"),
        ("token deposit", "withdrawal"),
        ("token deposit", "deposit"),
        ("base token deposit", "request"),
        ("base token deposit", "withdrawal"),
        ("legacy deposit", "legacy deposit"),
        ("legacy refund", "legacy refund"),
    ],
)
def test_whoever_is_called_does_not_enter_the_bridge_again(
    l1: Deployed, outer: str, inner: str
) -> None:
    engine, bridge = l1.engine, l1.legacy_bridge
    token = l1.token("ReentrantToken")
    caller = engine.deploy("Actor", sender=ALICE) if outer == "ether withdrawal" else token
    for spender in (l1.router, bridge):
        engine.send(ALICE, token, "approve", spender.address, 2**256 - 1)
    deposit_ether(l1)
    deposit(l1, new_form(token, 9))
    l1.add_chain(token=token.address)
    legacy = (bridge, LEGACY_DEPOSIT, BOB, token.address, 3, 1_000_000, 800)
    failed = status_proof(l1, Hash32(engine.send(ALICE, *legacy, value=ETHER)))
    refund = (bridge, "claimFailedDeposit", ALICE, token.address, *failed)
    paid = {
        name: claim(l1, message, sender)
        for name, message, sender in (
            ("ether", ether_message(caller.address, 4), L2_BASE_TOKEN),
            ("token", token_message(token, BOB, 4), L2_ASSET_ROUTER),
        )
    }
    again = paid["token" if outer.startswith("token") else "ether"]
    _, batch, index, _, number, message, proof = again
    again_by_chain = (l1.chain, "finalizeEthWithdrawal", batch, index, number, message, proof)
    second = two_bridges(l1.router.address, new_form(token, 7), mint_value=0)
    calls: dict[str, tuple[Any, ...]] = {
        "request": (l1.bridgehub, "requestL2TransactionDirect", direct(mint_value=0)),
        "request by the chain": (l1.chain, "requestL2Transaction", *direct()[2:]),
        "withdrawal": (l1.nullifier, "finalizeDeposit", again),
        "withdrawal by the chain": again_by_chain,
        "deposit": (l1.bridgehub, "requestL2TransactionTwoBridges", second),
        "legacy deposit": legacy,
        "legacy refund": refund,
    }
    target, function, *arguments = calls[inner]
    engine.send(ALICE, caller, "arm", target.address, target.encode(function, *arguments))
    if "withdrawal" in outer:
        finalize(l1, paid[outer.partition(" ")[0]])
    elif outer == "token deposit":
        deposit(l1, new_form(token, 5))
    elif outer == "base token deposit":
        request(l1, chain_id=OTHER_CHAIN_ID, value=0)
    else:
        engine.send(ALICE, *calls[outer], value=ETHER if outer == "legacy deposit" else 0)
    assert not engine.read(caller, "succeeded")
    assert error_of(engine.read(caller, "returnData")).error == "Reentrancy"
    for asset, held in (
        (token.address, engine.read(token, "balanceOf", l1.vault.address)),
        (ETH_TOKEN, engine.balance(l1.vault.address)),
    ):
        booked = [
            engine.read(l1.vault, "chainBalance", chain_id, asset_id(asset))
            for chain_id in (CHAIN_ID, OTHER_CHAIN_ID)
        ]
        assert held == sum(booked)


def test_a_token_that_registers_itself_while_it_is_deposited_changes_nothing(l1: Deployed) -> None:
    token = l1.token("ReentrantToken")
    call = l1.vault.encode("ensureTokenIsRegistered", token.address)
    l1.engine.send(ALICE, token, "arm", l1.vault.address, call)
    deposit_token(l1, token, 5)
    assert l1.engine.read(l1.vault, "assetId", token.address) == asset_id(token.address)
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 5


def test_a_withdrawal_is_paid_once_by_all_entry_points_together(l1: Deployed) -> None:
    token = l1.token()
    deposit_token(l1, token, 9)
    params = claim(l1, token_message(token, BOB, 4), L2_ASSET_ROUTER)
    chain_id, batch, index, _, number, message, proof = params
    entries: list[tuple[Contract, str, tuple[Any, ...]]] = [
        (l1.nullifier, "finalizeDeposit", (params,)),
        (l1.router, "finalizeWithdrawal", (chain_id, batch, index, number, message, proof)),
        (l1.legacy_bridge, "finalizeWithdrawal", (batch, index, number, message, proof)),
    ]
    entries.append((l1.chain, "finalizeEthWithdrawal", entries[-1][2]))
    for first in entries:
        engine = l1.engine.fork()
        engine.send(OPERATOR, *first[:2], *first[2])
        for contract, function, arguments in entries:
            with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
                engine.send(OPERATOR, contract, function, *arguments)
        assert engine.read(token, "balanceOf", BOB) == 4


def test_the_same_withdrawal_in_another_batch_is_another_withdrawal(l1: Deployed) -> None:
    deposit_ether(l1, 3 * ETHER)
    message = ether_message(BOB, ETHER)
    before = l1.engine.balance(BOB)
    first, second = (claim(l1, message, L2_BASE_TOKEN) for _ in range(2))
    finalize(l1, first)
    finalize(l1, second)
    assert l1.engine.balance(BOB) == before + 2 * ETHER
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        finalize(l1, first)


def test_an_inner_node_passes_only_where_the_caller_knows_that_it_is_a_leaf(l1: Deployed) -> None:
    logs = tuple(message_log(number, ALICE, b"text") for number in range(4))
    batch = l1.settle(*logs)
    leaves = [keccak256(log.pack()) for log in logs]
    parent = keccak256(leaves[0] + leaves[1])
    upper = [*path_of(logs, 0)[1:], AGGREGATED_ROOT]
    short = [bytes([1, len(upper), 0, 1]) + bytes(28), *upper]
    assert l1.engine.read(l1.chain, "proveL2LeafInclusion", batch, 0, parent, short)
    # Whatever is hashed as a log has 88 bytes, and a node 64: no log has the hash of a node.
    forged = (0, True, 0, ALICE, leaves[0], leaves[1])
    assert not l1.engine.read(
        l1.bridgehub, "proveL2LogInclusion", CHAIN_ID, batch, 0, forged, short
    )


@pytest.mark.parametrize("index", [1 << 14, (1 << 15) - 1], ids=["first", "last"])
def test_nothing_is_proven_beside_the_tree_of_logs(l1: Deployed, index: int) -> None:
    # The right half of a batch's root is the aggregated root of other chains, of which there are none.
    message = ether_message(BOB, ETHER)
    logs = (message_log(0, L2_BASE_TOKEN, message),)
    batch, proof = l1.settled_proof(*logs, index=0)
    params = (CHAIN_ID, batch, index, L2_BASE_TOKEN, 0, message, proof)
    with pytest.raises(Reverted, match="InvalidProof"):
        finalize(l1, params)


def test_a_token_that_takes_from_the_vault_leaves_the_withdrawal_open(l1: Deployed) -> None:
    token, other = l1.token(), l1.token()
    for each in (token, other):
        deposit_token(l1, each, 9)
    # A rebase: the vault owns less than it owes.
    l1.engine.send(l1.vault.address, token, "transfer", MALLORY, 6)
    params = claim(l1, token_message(token, BOB, 9), L2_ASSET_ROUTER)
    with pytest.raises(Reverted, match="InsufficientBalance"):
        finalize(l1, params)
    assert not l1.engine.read(l1.nullifier, "isWithdrawalFinalized", *params[:3])
    # Only this token is short.
    finalize(l1, claim(l1, token_message(other, BOB, 9), L2_ASSET_ROUTER))
    l1.engine.send(MALLORY, token, "transfer", l1.vault.address, 6)
    finalize(l1, params)
    assert l1.engine.read(token, "balanceOf", BOB) == 9


def test_a_token_that_destroyed_itself_is_not_paid(l1: Deployed) -> None:
    token = l1.token()
    deposit_token(l1, token, 9)
    params = claim(l1, token_message(token, BOB, 9), L2_ASSET_ROUTER)
    l1.engine.overlay.set_code(token.address, b"")
    with pytest.raises(Reverted, match="TokenTransferFailed"):
        finalize(l1, params)
    assert not l1.engine.read(l1.nullifier, "isWithdrawalFinalized", *params[:3])


def test_an_amount_that_sums_could_overflow_by_is_not_deposited(l1: Deployed) -> None:
    token = l1.token(holder=BOB)
    l1.engine.send(DEPLOYER, token, "mint", ALICE, 2**129)
    with pytest.raises(Reverted, match=f"AmountTooLarge.{2**128}"):
        deposit_token(l1, token, 2**128)
    deposit_token(l1, token, 2**128 - 1)
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 2**128 - 1


# --- Deposits that could not arrive ---


def test_a_deposit_of_a_token_with_value_for_l2_is_rejected(l1: Deployed) -> None:
    # The router of L2 accepts no ether: the deposit would be collected here and fail there.
    token = l1.token()
    with pytest.raises(Reverted, match="NonEmptyMsgValue"):
        deposit_token(l1, token, 5, l2_value=1)


def test_a_contract_that_names_no_receiver_deposits_to_its_alias(l1: Deployed) -> None:
    # It does not control the account with its own address on L2.
    actor = l1.engine.deploy("Actor", sender=ALICE)
    token = l1.token(holder=actor.address)
    approval = token.encode("approve", l1.router.address, 5)
    l1.engine.send(ALICE, actor, "act", token.address, approval)
    data = abi.encode(["address", "uint256", "address"], [token.address, 5, Address.zero()])
    asked = two_bridges(l1.router.address, data)
    call = l1.bridgehub.encode("requestL2TransactionTwoBridges", asked)
    l1.engine.send(ALICE, actor, "act", l1.bridgehub.address, call, value=ETHER)
    assert receiver_on_l2(l1) == alias(actor.address)


# --- The legacy bridge, which holds tokens during a deposit ---

LEGACY_DEPOSIT = "deposit(address,address,uint256,uint256,uint256)"


def by_legacy_bridge(l1: Deployed, token: Contract, amount: int, receiver: Address) -> bytes:
    return l1.legacy_bridge.encode(LEGACY_DEPOSIT, receiver, token.address, amount, 1_000_000, 800)


def test_a_contract_without_a_receiver_deposits_to_its_alias_by_the_legacy_bridge(
    l1: Deployed,
) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    token = l1.token(holder=actor.address)
    approval = token.encode("approve", l1.legacy_bridge.address, 5)
    l1.engine.send(ALICE, actor, "act", token.address, approval)
    call = by_legacy_bridge(l1, token, 5, Address.zero())
    l1.engine.send(ALICE, actor, "act", l1.legacy_bridge.address, call, value=ETHER)
    assert receiver_on_l2(l1) == alias(actor.address)
    assert requested(l1)[10][1].to_bytes(20) == alias(actor.address)


def test_nobody_deposits_what_lies_at_the_legacy_bridge(l1: Deployed) -> None:
    token = l1.token()
    bridge = l1.legacy_bridge
    l1.engine.send(ALICE, token, "transfer", bridge.address, 5)
    asked = (MALLORY, token.address, 5, 1_000_000, 800)
    with pytest.raises(Reverted, match="InsufficientAllowance"):
        l1.engine.send(BOB, bridge, LEGACY_DEPOSIT, *asked, value=ETHER)
    # Nor together with tokens of one's own.
    l1.engine.send(ALICE, token, "transfer", BOB, 1)
    l1.engine.send(BOB, token, "approve", bridge.address, 6)
    with pytest.raises(Reverted, match="InsufficientBalance"):
        l1.engine.send(
            BOB, bridge, LEGACY_DEPOSIT, *(MALLORY, token.address, 6), *asked[3:], value=ETHER
        )
    assert l1.engine.read(token, "balanceOf", bridge.address) == 5


def test_the_token_of_an_l2_returns_by_the_legacy_bridge_and_is_refunded_to_its_owner(
    l1: Deployed,
) -> None:
    token = arrive(l1, b"")
    bridge, engine = l1.legacy_bridge, l1.engine
    engine.send(ALICE, token, "approve", bridge.address, 4)
    asked = (BOB, token.address, 4, 1_000_000, 800)
    tx_hash = engine.send(ALICE, bridge, LEGACY_DEPOSIT, *asked, value=ETHER)
    assert engine.read(token, "totalSupply") == engine.read(token, "balanceOf", ALICE) == 6
    # The vault burns without an allowance, so the bridge's stays; there is nothing that it could take.
    assert engine.read(token, "balanceOf", bridge.address) == 0
    proof = status_proof(l1, tx_hash)
    engine.send(MALLORY, bridge, "claimFailedDeposit", ALICE, token.address, *proof)
    assert engine.read(token, "balanceOf", ALICE) == 10
    for contract, arguments in (
        (bridge, (ALICE, token.address, *proof)),
        (l1.nullifier, (CHAIN_ID, ALICE, token.address, 4, *proof)),
    ):
        with pytest.raises(Reverted, match=r"EmptyDeposit|DepositDoesNotExist"):
            engine.send(MALLORY, contract, "claimFailedDeposit", *arguments)


def test_anybody_registers_a_token_but_only_under_its_own_asset_id(l1: Deployed) -> None:
    token, other = l1.token(), l1.token()
    data = burn_data(0, BOB, token.address)
    with pytest.raises(Reverted, match="AssetIdMismatch"):
        l1.engine.send(
            MALLORY, l1.vault, "tryRegisterTokenFromBurnData", data, asset_id(other.address)
        )
    wanted = asset_id(token.address)
    l1.engine.send(MALLORY, l1.vault, "tryRegisterTokenFromBurnData", data, wanted)
    assert l1.engine.read(l1.vault, "tokenAddress", wanted) == str(token.address)
    assert l1.engine.read(l1.vault, "originChainId", wanted) == L1_CHAIN_ID


@pytest.mark.parametrize("contract", ["bridgehub", "router", "nullifier", "vault", "chain"])
def test_a_contract_that_is_no_token_can_be_registered_but_not_deposited(
    l1: Deployed, contract: str
) -> None:
    target: Contract = getattr(l1, contract)
    l1.engine.send(MALLORY, l1.vault, "registerToken", target.address)
    asked = two_bridges(l1.router.address, new_form(target, 1))
    with pytest.raises(Reverted, match=r"nothing|UnknownSelector"):
        l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionTwoBridges", asked, value=ETHER)


def test_a_transfer_of_ownership_is_taken_back_by_another(l1: Deployed) -> None:
    for contract in (l1.bridgehub, l1.timelock):
        l1.engine.send(DEPLOYER, contract, "transferOwnership", MALLORY)
        l1.engine.send(DEPLOYER, contract, "transferOwnership", Address.zero())
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(MALLORY, contract, "acceptOwnership")
        assert l1.engine.read(contract, "owner") == str(DEPLOYER)


def described(name: bytes) -> bytes:
    """Return the metadata of a token of the L2 whose name, symbol and decimals are the same."""
    return b"\x01" + abi.encode(["uint256", "bytes", "bytes", "bytes"], [CHAIN_ID, *[name] * 3])


def arrive(l1: Deployed, name: bytes, amount: int = 10) -> Contract:
    """Let a token of the L2 arrive, for Alice, with this as its name, symbol and decimals."""
    origin = Address(b"\x77" * 20)
    asset, mint = asset_id(origin, CHAIN_ID), mint_of(origin, amount, described(name), ALICE)
    finalize(l1, claim(l1, asset_message(asset, mint), L2_ASSET_ROUTER))
    address = Address.parse(l1.engine.read(l1.vault, "tokenAddress", asset))
    return Contract(address, find("L1BridgedToken"))


@pytest.mark.parametrize(("size", "stored"), [(512, 512), (513, 0), (40_000, 0)])
def test_a_claim_stores_no_name_that_no_block_can_pay_for(
    l1: Deployed, size: int, stored: int
) -> None:
    token = arrive(l1, b"A" * size)
    assert l1.engine.read(token, "balanceOf", ALICE) == 10
    returned = l1.engine.read(l1.vault, "getERC20Getters", token.address, CHAIN_ID)
    assert returned == described(b"A" * stored)


def test_the_bridged_token_of_an_l2_keeps_balances_and_allowances_apart(l1: Deployed) -> None:
    token, engine = arrive(l1, b""), l1.engine
    with pytest.raises(Reverted, match="InsufficientAllowance"):
        engine.send(MALLORY, token, "transferFrom", ALICE, MALLORY, 1)
    engine.send(ALICE, token, "approve", MALLORY, 3)
    engine.send(MALLORY, token, "transferFrom", ALICE, MALLORY, 3)
    for function, arguments, error in (
        ("transferFrom", (ALICE, MALLORY, 1), "InsufficientAllowance"),
        ("transfer", (BOB, 4), "InsufficientBalance"),
        ("transfer", (Address.zero(), 1), "InvalidReceiver"),
    ):
        with pytest.raises(Reverted, match=error):
            engine.send(MALLORY, token, function, *arguments)
    engine.send(MALLORY, token, "transfer", MALLORY, 3)
    assert engine.read(token, "balanceOf", MALLORY) == 3
    assert engine.read(token, "totalSupply") == 10


def test_equal_transactions_of_two_chains_have_separate_refunds(l1: Deployed) -> None:
    l1.add_chain()
    token = l1.token()
    deposit_token(l1, token, 5)
    deposit_token(l1, token, 5, chain_id=OTHER_CHAIN_ID)
    first = l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address))
    hashes = [
        l1.engine.read(chain, "getPriorityTreeRoot")
        for chain in (l1.chain, Contract(_chain_of(l1, OTHER_CHAIN_ID), l1.chain.artifact))
    ]
    # The hash of a priority transaction has no chain id: both are equal.
    assert hashes[0] == hashes[1]
    data = burn_data(5, BOB, token.address)
    refund = (ALICE, asset_id(token.address), data, *status_proof(l1, hashes[0]))
    recover = "bridgeRecoverFailedTransfer"
    with pytest.raises(Reverted, match="BatchNotExecuted"):
        l1.engine.send(OPERATOR, l1.nullifier, recover, OTHER_CHAIN_ID, *refund)
    l1.engine.send(OPERATOR, l1.nullifier, recover, CHAIN_ID, *refund)
    assert first == 5
    assert l1.engine.read(l1.vault, "chainBalance", OTHER_CHAIN_ID, asset_id(token.address)) == 5
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 0


def _chain_of(l1: Deployed, chain_id: int) -> Address:
    return Address.parse(l1.engine.read(l1.bridgehub, "getZKChain", chain_id))
