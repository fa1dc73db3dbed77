"""Tokens that come to an L2 and leave it: the first deposit deploys one, a withdrawal burns or locks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.errors import ExecutionReverted
from entresol.execution.calls import CallRequest, estimate_gas, run
from entresol.execution.evm_env import EvmEnv
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.l2_to_l1_logs import FAILED, L1_MESSAGE_SENT, L1_MESSENGER, SUCCEEDED
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import ASSET_ROUTER, NATIVE_TOKEN_VAULT
from tests.support.contracts.engine import alias
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    CROWN,
    L1_ASSET,
    L1_ASSET_ROUTER,
    L1_CHAIN_ID,
    L1_TOKEN,
    ROUTER_ALIAS,
    LayerTwo,
    artifact_for_tests,
    calldata,
    decode,
    deposit_call,
    encode,
    failing,
    failure,
    logs_of,
    messages_of,
    metadata,
    padded,
)

LEGACY = "finalizeDeposit(address,address,address,uint256,bytes)"
# What clients describe a token with when they estimate its deposit.
LEGACY_CROWN = encode(
    "(bytes,bytes,bytes)",
    encode("(string)", "Crown"),
    encode("(string)", "CRWN"),
    encode("(uint256)", 6),
)


def l2_token(l2: LayerTwo, l1_token: Address = L1_TOKEN) -> Address:
    """Return the bridged token of an L1 token, as clients look it up."""
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", l1_token))


def described(l2: LayerTwo, token: Address) -> tuple[str, str, int]:
    """Return name, symbol and decimals of a token."""
    return (
        l2.read(token, "name()(string)"),
        l2.read(token, "symbol()(string)"),
        l2.read(token, "decimals()(uint8)"),
    )


def test_the_first_deposit_deploys_the_token_at_the_computed_address(l2: LayerTwo) -> None:
    promised = l2_token(l2)
    assert l2.code(promised) == b""
    outcome = l2.deposit(1_000)
    assert [log.value for log in messages_of(outcome)] == [SUCCEEDED]
    assert l2_token(l2) == promised
    assert described(l2, promised) == ("Crown", "CRWN", 6)
    assert l2.token_balance(promised, ALICE) == 1_000


def test_a_bridged_token_returns_its_origin(l2: LayerTwo) -> None:
    l2.deposit()
    token = l2_token(l2)
    for getter in ("l1Address()", "originToken()"):
        assert Address.parse(l2.read(token, f"{getter}(address)")) == L1_TOKEN
    assert Address.parse(l2.read(token, "nativeTokenVault()(address)")) == NATIVE_TOKEN_VAULT
    assert Address.parse(l2.read(token, "l2Bridge()(address)")) == ASSET_ROUTER
    assert l2.read(token, "assetId()(bytes32)") == L1_ASSET


@pytest.mark.parametrize("sender", [L1_ASSET_ROUTER, alias(ALICE), ALICE, ASSET_ROUTER], ids=str)
@pytest.mark.parametrize(
    "call",
    [deposit_call(1_000, ALICE), calldata(LEGACY, BOB, ALICE, L1_TOKEN, 1_000, LEGACY_CROWN)],
    ids=["new", "legacy"],
)
def test_only_the_alias_of_the_l1_router_finalizes_deposits(
    l2: LayerTwo, call: bytes, sender: Address
) -> None:
    outcome = l2.from_l1(call, sender=sender)
    assert [log.value for log in messages_of(outcome)] == [FAILED]
    with failing(failure("Unauthorized(address)", sender)):
        l2.call(ASSET_ROUTER, call, sender=sender)


@pytest.fixture(scope="module", params=[False, True], ids=["first", "later"])
def evm_env(request: pytest.FixtureRequest) -> Iterator[EvmEnv]:
    """Return the L2 before the first deposit of a token, and after it."""
    with closing(LayerTwo()) as layer:
        if request.param:
            layer.deposit()
        yield layer.evm_env()


@given(
    name=st.text(max_size=100),
    symbol=st.text(max_size=12),
    decimals=st.integers(0, 255),
    amount=st.integers(1, 2**200),
    receiver=st.binary(min_size=20, max_size=20).filter(any).map(Address),
)
def test_the_estimate_is_enough_for_any_token(
    evm_env: EvmEnv, name: str, symbol: str, decimals: int, amount: int, receiver: Address
) -> None:
    answers = encode("(string)", name), encode("(string)", symbol), encode("(uint256)", decimals)
    data = encode("(bytes,bytes,bytes)", *answers)
    legacy = calldata(LEGACY, BOB, receiver, L1_TOKEN, amount, data)
    request = CallRequest(sender=ROUTER_ALIAS, to=ASSET_ROUTER, data=legacy)
    gas = estimate_gas(evm_env, request).gas
    real = deposit_call(amount, receiver, description=metadata(*answers))
    outcome = run(evm_env, CallRequest(sender=ROUTER_ALIAS, to=ASSET_ROUTER, data=real, gas=gas))
    assert outcome.status == "success"


def test_a_token_deposit_with_value_or_to_nobody_fails(l2: LayerTwo) -> None:
    assert not l2.from_l1(deposit_call(1_000, ALICE), value=1).succeeded
    assert not l2.deposit(receiver=Address.zero()).succeeded


def test_a_token_of_another_chain_is_deposited_through_l1(l2: LayerTwo) -> None:
    asset = asset_id(324, L1_TOKEN)
    description = metadata(b"", b"", b"", chain_id=324)
    data = encode("(address,address,address,uint256,bytes)", BOB, ALICE, L1_TOKEN, 7, description)
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert l2.from_l1(call).succeeded
    token = Address.parse(l2.read(NATIVE_TOKEN_VAULT, "tokenAddress(bytes32)(address)", asset))
    assert l2.token_balance(token, ALICE) == 7
    assert int(l2.read(ASSET_ROUTER, "l1TokenAddress(address)(address)", token), 16) == 0


@pytest.mark.parametrize(
    ("asset", "error"),
    [
        (Hash32(b"\x99" * 32), failure("AssetIdMismatch(bytes32,bytes32)", L1_ASSET, b"\x99" * 32)),
        (
            asset_id(L1_CHAIN_ID, ETH_TOKEN),
            failure("AssetIdNotSupported(bytes32)", asset_id(L1_CHAIN_ID, ETH_TOKEN)),
        ),
    ],
    ids=["wrong", "base token"],
)
def test_an_asset_id_that_does_not_match_the_token_is_rejected(
    l2: LayerTwo, asset: Hash32, error: bytes
) -> None:
    data = encode("(address,address,address,uint256,bytes)", BOB, ALICE, L1_TOKEN, 7, CROWN)
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    with failing(error):
        l2.call(ASSET_ROUTER, call, sender=ROUTER_ALIAS)


def test_a_token_of_this_chain_gets_no_bridged_token(l2: LayerTwo) -> None:
    asset = asset_id(CHAIN_ID, L1_TOKEN)
    description = metadata(b"", b"", b"", chain_id=CHAIN_ID)
    data = encode("(address,address,address,uint256,bytes)", BOB, ALICE, L1_TOKEN, 7, description)
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    with failing(failure("AssetIdNotSupported(bytes32)", asset)):
        l2.call(ASSET_ROUTER, call, sender=ROUTER_ALIAS)


def named(name: bytes) -> bytes:
    return metadata(name, TEXT, SIX)


def text(value: str) -> bytes:
    return encode("(string)", value)


LONG = "Ä" * 100
TEXT, SIX = text("Crown"), encode("(uint256)", 6)
MAKER, MKR = b"Maker".ljust(32, b"\0"), b"MKR".ljust(32, b"\0")
DESCRIPTIONS: dict[str, tuple[bytes, tuple[str, str, int]]] = {
    "no description": (b"", ("", "", 18)),
    "unknown version": (b"\x07garbage", ("", "", 18)),
    "cut off": (CROWN[:40], ("", "", 18)),
    "legacy nonsense": (b"\0" * 96, ("", "", 18)),
    "silent token": (metadata(b"", b"", b""), ("", "", 18)),
    "texts of 32 bytes": (metadata(MAKER, MKR, SIX), ("Maker", "MKR", 6)),
    "32 bytes, full and empty": (metadata(b"M" * 32, bytes(32), SIX), ("M" * 32, "", 6)),
    "long text": (named(text(LONG)), ("Ä" * 64, "Crown", 6)),
    "cut inside a character": (named(text("x" + LONG)), ("x" + "Ä" * 63, "Crown", 6)),
    "huge text": (named(text("y" * 10_000)), ("y" * 128, "Crown", 6)),
    "length beyond": (named(encode("(uint256,uint256)", 32, 2**255)), ("", "Crown", 6)),
    "offset": (named(encode("(uint256,uint256)", 64, 0)), ("", "Crown", 6)),
    "three bytes": (named(b"abc"), ("", "Crown", 6)),
    "256 digits": (metadata(TEXT, TEXT, encode("(uint256)", 256)), ("Crown", "Crown", 18)),
    "one byte of digits": (metadata(TEXT, TEXT, b"\x06"), ("Crown", "Crown", 18)),
    "no digits": (metadata(TEXT, TEXT, encode("(uint256)", 0)), ("Crown", "Crown", 0)),
}


@pytest.mark.parametrize(("description", "expected"), DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_no_metadata_breaks_a_deposit(
    l2: LayerTwo, description: bytes, expected: tuple[str, str, int]
) -> None:
    assert l2.deposit(1_000, description=description).succeeded
    token = l2_token(l2)
    assert described(l2, token) == expected
    assert l2.token_balance(token, ALICE) == 1_000


RECEIVER = Address(b"\x91" * 20)
BY_ASSET = "withdraw(bytes32,bytes)"
BY_ADDRESS = "withdraw(address,address,uint256)"
WITHDRAWN_CROWN = metadata(
    encode("(string)", "Crown"), encode("(string)", "CRWN"), encode("(uint8)", 6)
)


@pytest.fixture
def native(l2: LayerTwo) -> Address:
    """Return a token of this chain, of which Alice has a thousand and has approved the vault for all."""
    token = l2.deploy(artifact("TestERC20"), "(string,string,uint8)", "Local", "LCL", 8)
    l2.send(token, calldata("mint(address,uint256)", ALICE, 1_000))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 2**256 - 1))
    return token


def by_asset(asset: Hash32, amount: int, token: Address, receiver: Address = RECEIVER) -> bytes:
    data = encode("(uint256,address,address)", amount, receiver, token)
    return calldata(BY_ASSET, asset, data)


def message_of(outcome: TransactionResult) -> bytes:
    assert outcome.succeeded
    (log,) = logs_of(outcome, L1_MESSENGER, L1_MESSAGE_SENT)
    assert log[1][1] == padded(ASSET_ROUTER)
    message: bytes = decode("(bytes)", log[2])
    (sent,) = messages_of(outcome)
    assert (sent.key, sent.value) == (padded(ASSET_ROUTER), keccak256(message))
    return message


def rejection(l2: LayerTwo, call: bytes, sender: Address = ALICE) -> bytes:
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(ASSET_ROUTER, call, sender=sender)
    return caught.value.data


@pytest.mark.parametrize("form", ["asset", "token"])
def test_the_message_is_the_call_that_finalizes_the_withdrawal(
    l2: LayerTwo, crown: Address, form: str
) -> None:
    by_token = calldata(BY_ADDRESS, RECEIVER, crown, 400)
    call = by_asset(L1_ASSET, 400, crown) if form == "asset" else by_token
    assert message_of(l2.send(ASSET_ROUTER, call)) == (
        bytes.fromhex("9c884fd1")
        + CHAIN_ID.to_bytes(32)
        + L1_ASSET
        + encode(
            "(address,address,address,uint256,bytes)",
            ALICE,
            RECEIVER,
            L1_TOKEN,
            400,
            WITHDRAWN_CROWN,
        )
    )


def test_a_withdrawal_above_the_balance_is_rejected(l2: LayerTwo, crown: Address) -> None:
    error = failure("InsufficientBalance(address,uint256,uint256)", ALICE, 1_000, 1_001)
    assert rejection(l2, by_asset(L1_ASSET, 1_001, crown)) == error


@pytest.mark.usefixtures("crown")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (by_asset(L1_ASSET, 0, L1_TOKEN), failure("AmountMustBeGreaterThanZero()")),
        (by_asset(L1_ASSET, 2**128, L1_TOKEN), failure("AmountTooLarge(uint256)", 2**128)),
        (
            by_asset(L1_ASSET, 1, L1_TOKEN, Address.zero()),
            failure("InvalidReceiver(address)", Address.zero()),
        ),
        (
            by_asset(asset_id(L1_CHAIN_ID, ETH_TOKEN), 1, ETH_TOKEN),
            failure("AssetIdNotSupported(bytes32)", asset_id(L1_CHAIN_ID, ETH_TOKEN)),
        ),
        (by_asset(Hash32.zero(), 1, L1_TOKEN), failure("EmptyToken()")),
        (
            calldata(BY_ADDRESS, RECEIVER, L1_TOKEN, 1),
            failure("TokenNotRegistered(address)", L1_TOKEN),
        ),
    ],
    ids=["nothing", "too much", "for nobody", "base token", "no token", "unknown token"],
)
def test_an_invalid_withdrawal_is_rejected(l2: LayerTwo, call: bytes, error: bytes) -> None:
    assert rejection(l2, call) == error


def test_a_withdrawal_with_another_asset_id_than_the_tokens_is_rejected(
    l2: LayerTwo, crown: Address
) -> None:
    claimed = Hash32(b"\x99" * 32)
    error = failure("AssetIdMismatch(bytes32,bytes32)", L1_ASSET, claimed)
    assert rejection(l2, by_asset(claimed, 1, crown)) == error


def test_a_token_of_this_chain_is_registered_by_its_first_withdrawal(
    l2: LayerTwo, native: Address
) -> None:
    asset = asset_id(CHAIN_ID, native)
    description = metadata(
        encode("(string)", "Local"), encode("(string)", "LCL"), encode("(uint8)", 8), CHAIN_ID
    )
    assert message_of(l2.send(ASSET_ROUTER, by_asset(asset, 400, native))) == (
        bytes.fromhex("9c884fd1")
        + CHAIN_ID.to_bytes(32)
        + asset
        + encode(
            "(address,address,address,uint256,bytes)", ALICE, RECEIVER, native, 400, description
        )
    )
    assert l2.token_balance(native, NATIVE_TOKEN_VAULT) == 400
    assert l2.read(NATIVE_TOKEN_VAULT, "assetId(address)(bytes32)", native) == asset
    assert l2.read(NATIVE_TOKEN_VAULT, "originChainId(bytes32)(uint256)", asset) == CHAIN_ID
    assert l2.read(NATIVE_TOKEN_VAULT, "bridgedTokensCount()(uint256)") == 0


def test_a_token_of_this_chain_cannot_be_withdrawn_to_an_l1_without_support() -> None:
    with closing(LayerTwo(l1_takes_l2_tokens=False)) as l2:
        token = l2.deploy(artifact("TestERC20"), "(string,string,uint8)", "Local", "LCL", 8)
        l2.send(token, calldata("mint(address,uint256)", ALICE, 1_000))
        l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 1_000))
        call = by_asset(asset_id(CHAIN_ID, token), 400, token)
        assert rejection(l2, call) == failure("TokenNotSupported(address)", token)


def test_a_deposit_of_a_token_of_this_chain_is_paid_by_the_vault(
    l2: LayerTwo, native: Address
) -> None:
    asset = asset_id(CHAIN_ID, native)
    l2.send(ASSET_ROUTER, by_asset(asset, 400, native))
    data = encode("(address,address,address,uint256,bytes)", RECEIVER, BOB, native, 150, b"")
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert l2.from_l1(call).succeeded
    assert l2.token_balance(native, BOB) == 150
    assert l2.token_balance(native, NATIVE_TOKEN_VAULT) == 250


def test_a_token_can_be_registered_before_its_withdrawal(l2: LayerTwo, native: Address) -> None:
    asset = asset_id(CHAIN_ID, native)
    assert l2.send(NATIVE_TOKEN_VAULT, calldata("registerToken(address)", native)).succeeded
    ensured = "ensureTokenIsRegistered(address)(bytes32)"
    assert l2.read(NATIVE_TOKEN_VAULT, ensured, native) == asset
    assert message_of(l2.send(ASSET_ROUTER, calldata(BY_ADDRESS, RECEIVER, native, 1)))
    with failing(failure("TokenAlreadyRegistered(address)", native)):
        l2.call(NATIVE_TOKEN_VAULT, calldata("registerToken(address)", native))


def test_a_bridged_token_counts_as_registered(l2: LayerTwo, crown: Address) -> None:
    ensured = "ensureTokenIsRegistered(address)(bytes32)"
    assert l2.read(NATIVE_TOKEN_VAULT, ensured, crown) == L1_ASSET


def test_an_address_without_code_is_no_token(l2: LayerTwo) -> None:
    for function in ("registerToken(address)", "ensureTokenIsRegistered(address)"):
        with failing(failure("EmptyToken()")):
            l2.call(NATIVE_TOKEN_VAULT, calldata(function, BOB))


def test_a_withdrawal_needs_an_allowance_for_the_vault(l2: LayerTwo, native: Address) -> None:
    l2.send(native, calldata("transfer(address,uint256)", BOB, 10))
    error = failure("InsufficientAllowance(address,uint256,uint256)", NATIVE_TOKEN_VAULT, 0, 10)
    assert rejection(l2, by_asset(asset_id(CHAIN_ID, native), 10, native), BOB) == error


def test_a_token_with_a_transfer_fee_cannot_be_withdrawn(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("TaxedToken"))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 1_000))
    call = by_asset(asset_id(CHAIN_ID, token), 1_000, token)
    assert rejection(l2, call) == failure("TokensWithFeesNotSupported()")


def test_a_reentrant_withdrawal_is_rejected(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("RecursiveToken"))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 1_000))
    call = by_asset(asset_id(CHAIN_ID, token), 1_000, token)
    assert rejection(l2, call) == failure("Reentered()")


def test_a_token_older_than_the_standard_is_withdrawn_and_deposited(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("OldToken"))
    asset = asset_id(CHAIN_ID, token)
    message = message_of(l2.send(ASSET_ROUTER, by_asset(asset, 1_000, token)))
    description = metadata(b"Old token".ljust(32, b"\0"), b"OLD".ljust(32, b"\0"), b"", CHAIN_ID)
    assert decode("(address,address,address,uint256,bytes)", message[68:])[4] == description
    data = encode("(address,address,address,uint256,bytes)", RECEIVER, BOB, token, 1_000, b"")
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert l2.from_l1(call).succeeded
    assert l2.token_balance(token, BOB) == 1_000


def test_a_transfer_that_returns_false_on_l2_is_rejected(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("OldToken"))
    asset = asset_id(CHAIN_ID, token)
    l2.send(ASSET_ROUTER, by_asset(asset, 1_000, token))
    l2.send(token, calldata("stop()"))
    error = failure("TransferFailed(address)", token)
    assert rejection(l2, by_asset(asset, 1_000, token)) == error
    data = encode("(address,address,address,uint256,bytes)", RECEIVER, BOB, token, 1_000, b"")
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert rejection(l2, call, ROUTER_ALIAS) == error
