"""Requests of L2 transactions, deposits of tokens, odd ones too, and tokens of an L2 on L1."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from eth_abi import abi

from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import (
    ETHER,
    GWEI,
    L1_CHAIN_ID,
    Contract,
    Reverted,
    alias,
    find,
    reverted,
)
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
    direct,
)
from tests.support.contracts.merkle_trees import priority_levels
from tests.support.contracts.requests import (
    asset_message,
    claim,
    deposit,
    deposit_token,
    fee,
    finalize,
    new_form,
    old_form,
    payload,
    request,
    requested,
    status_proof,
)


def test_a_request_becomes_a_priority_transaction(l1: Deployed) -> None:
    tx_hash = request(l1, mint_value=ETHER, l2_value=ETHER // 2, l2_calldata=b"\x12\x34")
    assert payload(l1) == PriorityTransaction(
        sender=ALICE,
        to=BOB,
        gas_limit=1_000_000,
        gas_per_pubdata_limit=800,
        max_fee_per_gas=fee(GWEI),
        nonce=0,
        value=ETHER // 2,
        to_mint=ETHER,
        refund_recipient=ALICE,
        data=b"\x12\x34",
    )
    assert requested(l1)["txHash"] == tx_hash == payload(l1).hash()


def test_requests_have_consecutive_ids_and_are_in_the_priority_tree(l1: Deployed) -> None:
    hashes: list[bytes] = []
    for number in range(9):
        hashes.append(request(l1))
        assert requested(l1)["txId"] == payload(l1).nonce == number
        assert l1.engine.read(l1.chain, "getPriorityTreeRoot") == priority_levels(hashes)[-1][0]
    for size in range(1, 10):
        levels = priority_levels(hashes[:size])
        root, height = levels[-1][0], len(levels) - 1
        assert l1.engine.read(l1.chain, "isPriorityTreeRoot", root, height)
        # An inner node is not a root of another height.
        assert not l1.engine.read(l1.chain, "isPriorityTreeRoot", root, height + 1)
    assert l1.engine.read(l1.chain, "getTotalPriorityTxs") == 9


def test_exactly_the_base_cost_and_the_value_are_enough(l1: Deployed) -> None:
    needed = fee(GWEI) * 1_000_000 + 5
    request(l1, mint_value=needed, l2_value=5)
    with reverted("MsgValueTooLow", needed, needed - 1):
        request(l1, mint_value=needed - 1, l2_value=5)


def test_the_price_is_that_of_the_transaction_on_l1(l1: Deployed) -> None:
    l1.engine.gas_price = 1_000 * GWEI
    request(l1)
    assert payload(l1).max_fee_per_gas == fee(1_000 * GWEI)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"chain_id": 999}, ("ChainIdNotRegistered", 999)),
        ({"value": ETHER - 1}, ("MsgValueMismatch", ETHER, ETHER - 1)),
        ({"value": ETHER + 1}, ("MsgValueMismatch", ETHER, ETHER + 1)),
        ({"gas_per_pubdata": 50_000}, ("GasPerPubdataMismatch",)),
        ({"gas_per_pubdata": 0}, ("GasPerPubdataMismatch",)),
        ({"mint_value": 0}, ("EmptyDeposit",)),
    ],
    ids=lambda it: it[0] if isinstance(it, tuple) else next(iter(it)),
)
def test_a_wrong_request_is_rejected(
    l1: Deployed, fields: dict[str, Any], error: tuple[object, ...]
) -> None:
    with reverted(*error):
        request(l1, **fields)


def minimal_gas(data: bytes, deps: int = 0) -> int:
    """Return the minimum gas limit that L1 accepts, by the rules of the protocol."""
    length = 800 + -(-len(data) // 32) * 32 + 32 * deps
    computation = max(167_157 + -(-length * 1_656 // 544) + 2_473 * deps, 173_484)
    by_work = max(10_000, 10 * length) + computation + (88 + 64 * deps) * 800
    return max(by_work, 21_000 + sum(40 if byte else 10 for byte in data))


@pytest.mark.parametrize(
    "data",
    [
        *(b"\xff" * size for size in (0, 1, 32, 4_000, 8_300, 20_001)),
        *(bytes(size) for size in (1, 31, 20_001)),
        bytes(15_000) + b"\x01" * 15_001,
    ],
    ids=lambda it: f"{len(it)} bytes, {it.count(0)} zeros",
)
def test_the_minimum_gas_is_accepted_and_one_less_is_not(l1: Deployed, data: bytes) -> None:
    request(l1, l2_calldata=data, l2_gas_limit=minimal_gas(data))
    with pytest.raises(Reverted, match="ValidateTxnNotEnoughGas"):
        request(l1, l2_calldata=data, l2_gas_limit=minimal_gas(data) - 1)


def test_gas_below_the_overhead_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="TxnBodyGasLimitNotEnoughGas"):
        request(l1, l2_gas_limit=9_999)


def test_the_maximum_gas_is_accepted_and_one_more_is_not(l1: Deployed) -> None:
    request(l1, l2_gas_limit=72_010_000)
    with pytest.raises(Reverted, match="TooMuchGas"):
        request(l1, l2_gas_limit=72_010_001)


def test_gas_for_too_much_pubdata_is_rejected(l1: Deployed) -> None:
    deployer = Address.parse(l1.engine.read(l1.chain, "getAdmin"))
    l1.engine.send(deployer, l1.chain, "setPriorityTxMaxGasLimit", 2**63)
    request(l1, l2_gas_limit=99_000 * 800 + 799 + 10_000)
    with reverted("PubdataGreaterThanLimit", 99_000, 99_001):
        request(l1, l2_gas_limit=99_001 * 800 + 10_000)


def test_factory_dependencies_have_their_versioned_hashes(l1: Deployed) -> None:
    code = bytes(range(96))
    request(l1, factory_deps=[code])
    name = b"\x01\x00\x00\x03" + hashlib.sha256(code).digest()[4:]
    assert payload(l1).factory_dep_hashes == (name,)
    assert payload(l1).factory_deps == (code,)


@pytest.mark.parametrize(
    ("deps", "error"),
    [
        ([bytes(33)], ("LengthIsNotDivisibleBy32", 33)),
        ([bytes(64)], ("MalformedBytecode", 3)),
        ([b""], ("MalformedBytecode", 3)),
        ([bytes(32)] * 65, ("TooManyFactoryDeps",)),
    ],
    ids=["half a word", "even", "empty", "too many"],
)
def test_an_invalid_factory_dependency_is_rejected(
    l1: Deployed, deps: list[bytes], error: tuple[object, ...]
) -> None:
    with reverted(*error):
        request(l1, factory_deps=deps)


# --- Senders and refunds ---


def by_contract(l1: Deployed, actor: Contract, **fields: Any) -> None:
    data = l1.bridgehub.encode("requestL2TransactionDirect", direct(**fields))
    l1.engine.send(ALICE, actor, "act", l1.bridgehub.address, data, value=ETHER)


def test_the_sender_of_a_contracts_request_is_its_alias(l1: Deployed) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    by_contract(l1, actor)
    assert payload(l1).sender == alias(actor.address)


def test_an_account_that_delegates_to_code_keeps_its_address(l1: Deployed) -> None:
    l1.engine.overlay.set_code(ALICE, b"\xef\x01\x00" + b"\xc0" * 20)
    request(l1, refund_recipient=ALICE)
    assert (payload(l1).sender, payload(l1).refund_recipient) == (ALICE, ALICE)


def test_without_a_recipient_the_alias_of_a_contract_gets_the_refund(l1: Deployed) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    by_contract(l1, actor, refund_recipient=Address.zero())
    assert payload(l1).refund_recipient == alias(actor.address)


def test_a_contract_as_recipient_is_aliased(l1: Deployed) -> None:
    request(l1, refund_recipient=l1.router.address)
    assert payload(l1).refund_recipient == alias(l1.router.address)


# --- Through the asset router ---


def approved(l1: Deployed, spender: Contract | None = None) -> Contract:
    token = l1.token()
    l1.engine.send(ALICE, token, "approve", (spender or l1.router).address, 2**256 - 1)
    return token


@pytest.mark.parametrize("form", [new_form, old_form])
def test_a_token_is_deposited(l1: Deployed, form: Any) -> None:
    token = approved(l1)
    tx_hash = deposit(l1, form(token, 5 * ETHER))
    arrived = payload(l1)
    assert (arrived.sender, arrived.to) == (alias(l1.router.address), L2_ASSET_ROUTER)
    assert arrived.data[:4] == bytes.fromhex("9c884fd1")
    chain_id, asset, mint = abi.decode(["uint256", "bytes32", "bytes"], arrived.data[4:])
    assert (chain_id, asset) == (L1_CHAIN_ID, asset_id(token.address))
    caller, receiver, origin, amount, metadata = abi.decode(
        ["address", "address", "address", "uint256", "bytes"], mint
    )
    assert [Address.parse(it) for it in (caller, receiver, origin)] == [ALICE, BOB, token.address]
    assert amount == 5 * ETHER == l1.engine.read(token, "balanceOf", l1.vault.address)
    assert metadata[:1] == b"\x01"
    origin_chain, *answers = abi.decode(["uint256", "bytes", "bytes", "bytes"], metadata[1:])
    assert origin_chain == L1_CHAIN_ID
    assert answers == [
        abi.encode([kind], [value])
        for kind, value in (("string", "Test"), ("string", "TST"), ("uint8", 18))
    ]
    assert l1.engine.read(l1.nullifier, "depositHappened", CHAIN_ID, tx_hash) != bytes(32)


def test_an_allowance_for_the_vault_is_accepted_as_well(l1: Deployed) -> None:
    token = approved(l1, l1.vault)
    deposit(l1, new_form(token, 7))
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 7


def test_without_an_allowance_there_is_no_deposit_and_the_token_says_why(l1: Deployed) -> None:
    with pytest.raises(Reverted) as raised:
        deposit(l1, new_form(l1.token(), 7))
    assert str(raised.value) == f"InsufficientAllowance({l1.vault.address}, 0, 7)"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "UnsupportedEncodingVersion"),
        (b"\x02" + bytes(64), "UnsupportedEncodingVersion"),
        (b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(ETH_TOKEN), bytes(96)]),
         "AssetIdNotSupported"),
        (b"\x01" + abi.encode(["bytes32", "bytes"], [bytes(32), burn_data(1, BOB, BOB)]),
         "NotAToken"),
        (abi.encode(["address", "uint256", "address"], [ETH_TOKEN, 1, BOB]),
         "AssetIdNotSupported"),
    ],
    ids=["empty", "version", "base token", "no token", "old base token"],
)  # fmt: skip
def test_a_wrong_deposit_is_rejected(l1: Deployed, data: bytes, error: str) -> None:
    with pytest.raises(Reverted, match=error):
        deposit(l1, data)


def test_a_deposit_with_another_asset_id_than_the_tokens_is_rejected(l1: Deployed) -> None:
    token, other = approved(l1), approved(l1)
    inner = burn_data(7, BOB, other.address)
    data = b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(token.address), inner])
    with pytest.raises(Reverted, match="AssetIdMismatch"):
        deposit(l1, data)
    l1.engine.send(ALICE, l1.vault, "registerToken", token.address)
    with pytest.raises(Reverted, match="TokenMismatch"):
        deposit(l1, data)


def test_a_deposit_of_nothing_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="EmptyDeposit"):
        deposit(l1, new_form(approved(l1), 0))


def test_ether_beside_a_token_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="NonEmptyMsgValue"):
        deposit(l1, new_form(approved(l1), 7), bridge_value=1)


def test_a_second_bridge_with_a_low_address_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="AddressTooLow"):
        deposit(l1, b"", bridge=Address((0xFFFF).to_bytes(20)))


def test_a_second_bridge_without_the_magic_value_is_rejected(l1: Deployed) -> None:
    # Returns the offset of a tuple whose words are all zero, or empty at offset zero.
    code = "6020 5f 52 60e0 5f f3"
    l1.engine.overlay.set_code(BOB, bytes.fromhex(code))
    with pytest.raises(Reverted, match="WrongMagicValue"):
        deposit(l1, b"", bridge=BOB)


def test_the_record_of_a_deposit_is_not_overwritten(l1: Deployed) -> None:
    record = ("bridgehubConfirmL2TransactionForwarded", CHAIN_ID, b"\1" * 32, b"\2" * 32)
    l1.engine.send(l1.router.address, l1.nullifier, *record)
    with pytest.raises(Reverted, match="DepositExists"):
        l1.engine.send(l1.router.address, l1.nullifier, *record)


WORD = b"ODD".ljust(32, b"\0")
ONE_WORD, REVERTS, NOTHING, TOO_MUCH, ALL_GAS, DEAR = range(6)


def description(l1: Deployed) -> list[bytes]:
    """Return the name, symbol and decimals in the last deposit."""
    event = l1.engine.event(l1.router, "BridgehubDepositInitiated")
    kinds = ["address", "address", "address", "uint256", "bytes"]
    metadata = abi.decode(kinds, event.fields["bridgeMintCalldata"])[4]
    assert metadata[:1] == b"\x01"
    chain_id, *returned = abi.decode(["uint256", "bytes", "bytes", "bytes"], metadata[1:])
    assert chain_id == L1_CHAIN_ID
    return returned


@pytest.mark.parametrize(
    ("oddity", "returned"),
    [
        (ONE_WORD, WORD),
        (DEAR, WORD),
        (REVERTS, b""),
        (NOTHING, b""),
        (TOO_MUCH, b""),
        (ALL_GAS, b""),
    ],
)
def test_a_token_with_invalid_metadata_is_deposited(
    l1: Deployed, oddity: int, returned: bytes
) -> None:
    token = l1.token("OddToken", oddity)
    deposit_token(l1, token, 100)
    assert description(l1) == [returned] * 3
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 100


def test_the_minimum_gas_of_a_deposit_is_enough_for_the_metadata(l1: Deployed) -> None:
    token = l1.token("OddToken", DEAR)
    too_little, enough = 21_000, 3_000_000
    while enough - too_little > 1:
        trial = replace(l1, engine=l1.engine.fork())
        trial.engine.gas_limit = (too_little + enough) // 2
        try:
            deposit_token(trial, token, 100)
        except Reverted:
            too_little = trial.engine.gas_limit
        else:
            enough = trial.engine.gas_limit
            assert description(trial) == [WORD] * 3
    assert enough > 4 * 45_000


def test_a_token_whose_transfers_return_nothing_is_deposited(l1: Deployed) -> None:
    token = l1.token("SilentToken")
    deposit_token(l1, token, 100)
    assert description(l1) == [b""] * 3
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 100


def test_a_token_with_a_transfer_fee_is_rejected(l1: Deployed) -> None:
    token = l1.token("FeeToken")
    with pytest.raises(Reverted, match="TokensWithFeesNotSupported"):
        deposit_token(l1, token, 100)
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 0


def test_a_transfer_that_returns_false_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="TokenTransferFailed"):
        deposit_token(l1, l1.token("RejectingToken"), 100)


def test_a_token_is_registered_once(l1: Deployed) -> None:
    token = l1.token()
    assert l1.engine.read(l1.vault, "assetId", token.address) == bytes(32)
    assert (
        l1.engine.read(l1.router, "assetHandlerAddress", asset_id(token.address)) == "0x" + "0" * 40
    )
    known = l1.engine.send(BOB, l1.vault, "ensureTokenIsRegistered", token.address)
    assert known == asset_id(token.address)
    assert l1.engine.send(BOB, l1.vault, "ensureTokenIsRegistered", token.address) == known
    assert l1.engine.read(l1.vault, "assetId", token.address) == known
    assert l1.engine.read(l1.vault, "tokenAddress", known) == str(token.address)
    assert l1.engine.read(l1.vault, "originChainId", known) == L1_CHAIN_ID
    assert l1.engine.read(l1.router, "assetHandlerAddress", known) == str(l1.vault.address)
    with pytest.raises(Reverted, match="TokenAlreadyRegistered"):
        l1.engine.send(BOB, l1.vault, "registerToken", token.address)


def test_an_account_without_code_is_no_token(l1: Deployed) -> None:
    for function in ("registerToken", "ensureTokenIsRegistered"):
        with pytest.raises(Reverted, match="NotAToken"):
            l1.engine.send(BOB, l1.vault, function, BOB)


def test_the_test_token_is_a_standard_token(l1: Deployed) -> None:
    token, engine = l1.token("TestERC20", "Dai", "DAI", 6), l1.engine
    answers = [engine.read(token, name) for name in ("name", "symbol", "decimals", "totalSupply")]
    assert answers == ["Dai", "DAI", 6, 1000 * ETHER]
    assert engine.send(ALICE, token, "transfer", BOB, 3)
    assert engine.send(ALICE, token, "approve", BOB, 5)
    assert engine.send(BOB, token, "transferFrom", ALICE, BOB, 4)
    assert engine.read(token, "allowance", ALICE, BOB) == 1
    assert engine.read(token, "balanceOf", BOB) == 7
    with pytest.raises(Reverted, match="InsufficientAllowance"):
        engine.send(BOB, token, "transferFrom", ALICE, BOB, 2)
    with pytest.raises(Reverted, match="InsufficientBalance"):
        engine.send(BOB, token, "transfer", ALICE, 8)


# --- Tokens of an L2 ---


ORIGIN = Address(b"\x70" * 20)
ASSET = asset_id(ORIGIN, CHAIN_ID)
ANSWERS = [
    abi.encode([kind], [value])
    for kind, value in (("string", "Token of L2"), ("string", "TL2"), ("uint8", 6))
]
MINT = ["address", "address", "address", "uint256", "bytes"]


def metadata(answers: list[bytes], chain_id: int = CHAIN_ID) -> bytes:
    return b"\x01" + abi.encode(["uint256", "bytes", "bytes", "bytes"], [chain_id, *answers])


def arrive(
    l1: Deployed,
    amount: int,
    *,
    chain_id: int = CHAIN_ID,
    chain: Contract | None = None,
    answers: list[bytes] = ANSWERS,
    raw: bytes | None = None,
) -> None:
    """Settle a withdrawal of the token to Alice, and have it paid out."""
    described = metadata(answers) if raw is None else raw
    data = abi.encode(MINT, [BOB, ALICE, ORIGIN, amount, described])
    message = asset_message(ASSET, data, chain_id)
    finalize(l1, claim(l1, message, L2_ASSET_ROUTER, chain=chain, chain_id=chain_id))


def token_of(l1: Deployed) -> Contract:
    address = Address.parse(l1.engine.read(l1.vault, "tokenAddress", ASSET))
    return Contract(address, find("L1BridgedToken"))


def leave(l1: Deployed, amount: int, chain_id: int = CHAIN_ID) -> Hash32:
    inner = burn_data(amount, BOB, token_of(l1).address)
    data = b"\x01" + abi.encode(["bytes32", "bytes"], [ASSET, inner])
    return deposit(l1, data, chain_id=chain_id)


def deposited(l1: Deployed) -> tuple[Any, ...]:
    event = l1.engine.event(l1.router, "BridgehubDepositInitiated")
    return abi.decode(MINT, event.fields["bridgeMintCalldata"])


def test_the_first_withdrawal_of_an_l2_token_deploys_its_bridged_token(l1: Deployed) -> None:
    arrive(l1, 5)
    arrive(l1, 3)
    token, engine = token_of(l1), l1.engine
    assert [engine.read(token, name) for name in ("name", "symbol", "decimals")] == [
        "Token of L2",
        "TL2",
        6,
    ]
    assert engine.read(token, "balanceOf", ALICE) == engine.read(token, "totalSupply") == 8
    assert engine.read(token, "originToken") == str(ORIGIN)
    assert engine.read(token, "assetId") == ASSET == engine.read(l1.vault, "assetId", token.address)
    assert engine.read(l1.vault, "originChainId", ASSET) == CHAIN_ID


def test_a_deposit_of_the_bridged_token_names_the_l2_token(l1: Deployed) -> None:
    arrive(l1, 5)
    leave(l1, 2)
    assert l1.engine.read(token_of(l1), "totalSupply") == 3
    assert deposited(l1) == (str(ALICE), str(BOB), str(ORIGIN), 2, metadata(ANSWERS))


def test_it_is_bridged_to_another_chain_and_back(l1: Deployed) -> None:
    other = l1.add_chain()
    arrive(l1, 5)
    leave(l1, 4, OTHER_CHAIN_ID)
    assert deposited(l1)[4] == metadata(ANSWERS)
    assert l1.engine.read(l1.vault, "chainBalance", OTHER_CHAIN_ID, ASSET) == 4
    arrive(l1, 4, chain_id=OTHER_CHAIN_ID, chain=other)
    assert l1.engine.read(token_of(l1), "totalSupply") == 5


def test_another_chain_cannot_withdraw_it_first(l1: Deployed) -> None:
    other = l1.add_chain()
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        arrive(l1, 5, chain_id=OTHER_CHAIN_ID, chain=other)


@pytest.mark.parametrize("raw", [b"", b"\x02" + metadata(ANSWERS)[1:]], ids=["none", "version"])
def test_it_is_not_deployed_without_metadata(l1: Deployed, raw: bytes) -> None:
    with pytest.raises(Reverted, match="TokenDataOfUnknownVersion"):
        arrive(l1, 5, raw=raw)


def test_invalid_metadata_is_returned_unchanged(l1: Deployed) -> None:
    arrive(l1, 5, answers=[b"ODD".ljust(32, b"\0"), b"", b"\xff" * 40])
    leave(l1, 5)
    assert deposited(l1)[4] == metadata([b"ODD".ljust(32, b"\0"), b"", b"\xff" * 40])


def test_a_deposit_above_the_balance_is_rejected(l1: Deployed) -> None:
    arrive(l1, 5)
    with pytest.raises(Reverted, match="InsufficientBalance"):
        leave(l1, 6)


def test_a_deposit_of_the_bridged_token_that_fails_on_l2_is_refunded(l1: Deployed) -> None:
    arrive(l1, 5)
    tx_hash = leave(l1, 2)
    data = burn_data(2, BOB, token_of(l1).address)
    refund = (CHAIN_ID, ALICE, ASSET, data, *status_proof(l1, tx_hash))
    l1.engine.send(OPERATOR, l1.nullifier, "bridgeRecoverFailedTransfer", *refund)
    assert l1.engine.read(token_of(l1), "balanceOf", ALICE) == 5


@pytest.mark.parametrize("function", ["bridgeMint", "bridgeBurn"])
def test_only_the_vault_mints_and_burns_it(l1: Deployed, function: str) -> None:
    arrive(l1, 5)
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(ALICE, token_of(l1), function, ALICE, 1)


def test_it_is_not_registered_as_a_token_of_l1(l1: Deployed) -> None:
    arrive(l1, 5)
    token = token_of(l1)
    with pytest.raises(Reverted, match="TokenAlreadyRegistered"):
        l1.engine.send(ALICE, l1.vault, "registerToken", token.address)
    assert l1.engine.read(l1.vault, "tokenAddress", asset_id(token.address, L1_CHAIN_ID)) == str(
        Address.zero()
    )
