"""The bridged token: allowances, permits, and a supply that is what was deposited and not withdrawn."""

from __future__ import annotations

from contextlib import closing

import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.errors import ExecutionReverted
from entresol.primitives.base_token import asset_id
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BRIDGED_TOKEN_CODE
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    L1_ASSET,
    L1_CHAIN_ID,
    L1_TOKEN,
    SECRETS,
    LayerTwo,
    calldata,
    encode,
    failure,
)
from tests.support.run.examples import examples

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
PERMIT = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"
FOREVER = 2**256 - 1


@pytest.fixture
def crown(l2: LayerTwo) -> Address:
    """Return a token of which Alice has a thousand."""
    l2.deposit(1_000)
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", L1_TOKEN))


def permit(
    token: Address,
    *,
    nonce: int = 0,
    deadline: int = FOREVER,
    value: int = 300,
    chain_id: int = CHAIN_ID,
    signer: int = 0,
    high_s: bool = False,
) -> bytes:
    """Return the call of a permit of Alice for Bob, signed by one of them."""
    signed = Account.sign_typed_data(
        SECRETS[signer],
        {
            "name": "Crown",
            "version": "1",
            "chainId": chain_id,
            "verifyingContract": token.checksummed(),
        },
        {
            "Permit": [
                {"name": "owner", "type": "address"},
                {"name": "spender", "type": "address"},
                {"name": "value", "type": "uint256"},
                {"name": "nonce", "type": "uint256"},
                {"name": "deadline", "type": "uint256"},
            ]
        },
        {
            "owner": ALICE.checksummed(),
            "spender": BOB.checksummed(),
            "value": value,
            "nonce": nonce,
            "deadline": deadline,
        },
    )
    v, s = (55 - signed.v, CURVE_ORDER - signed.s) if high_s else (signed.v, signed.s)
    r = signed.r.to_bytes(32)
    return calldata(PERMIT, ALICE, BOB, value, deadline, v, r, s.to_bytes(32))


def test_a_spender_transfers_its_allowance(l2: LayerTwo, crown: Address) -> None:
    l2.send(crown, calldata("approve(address,uint256)", BOB, 10))
    take = calldata("transferFrom(address,address,uint256)", ALICE, BOB, 7)
    assert l2.send(crown, take, by=1).succeeded
    assert l2.read(crown, "allowance(address,address)(uint256)", ALICE, BOB) == 3
    assert not l2.send(crown, take, by=1).succeeded


def test_a_signed_permit_allows_a_spender(l2: LayerTwo, crown: Address) -> None:
    assert l2.send(crown, permit(crown), by=1).succeeded
    assert l2.read(crown, "allowance(address,address)(uint256)", ALICE, BOB) == 300
    assert l2.read(crown, "nonces(address)(uint256)", ALICE) == 1


def test_wallets_read_the_eip_712_domain_of_permits(l2: LayerTwo, crown: Address) -> None:
    forms = "eip712Domain()(bytes1,string,string,uint256,address,bytes32,uint256[])"
    assert l2.read(crown, forms) == (b"\x0f", "Crown", "1", CHAIN_ID, str(crown), bytes(32), ())


def test_a_permit_can_be_used_once(l2: LayerTwo, crown: Address) -> None:
    assert l2.send(crown, permit(crown), by=1).succeeded
    assert not l2.send(crown, permit(crown), by=1).succeeded
    assert l2.send(crown, permit(crown, nonce=1, value=5), by=1).succeeded
    assert l2.read(crown, "allowance(address,address)(uint256)", ALICE, BOB) == 5


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"signer": 1}, failure("InvalidSignature()")),
        ({"chain_id": 1}, failure("InvalidSignature()")),
        ({"nonce": 1}, failure("InvalidSignature()")),
        ({"high_s": True}, failure("InvalidSignature()")),
        ({"deadline": 5}, failure("PermitExpired(uint256)", 5)),
    ],
    ids=["somebody else", "another chain", "another nonce", "the other signature", "too late"],
)
def test_a_permit_with_a_wrong_field_is_rejected(
    l2: LayerTwo, crown: Address, change: dict[str, int], error: bytes
) -> None:
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(crown, permit(crown, **change))  # type: ignore[arg-type]
    assert caught.value.data == error


@pytest.mark.parametrize(
    "call",
    [
        calldata("bridgeMint(address,uint256)", ALICE, 1),
        calldata("bridgeBurn(address,uint256)", ALICE, 1),
        calldata(
            "bridgeInitialize(bytes32,address,string,string,uint8)", L1_ASSET, BOB, "x", "y", 1
        ),
    ],
    ids=["mint", "burn", "initialise"],
)
def test_only_the_vault_mints_burns_and_initializes_it(
    l2: LayerTwo, crown: Address, call: bytes
) -> None:
    for place in (crown, BRIDGED_TOKEN_CODE):
        with pytest.raises(ExecutionReverted) as caught:
            l2.call(place, call)
        assert caught.value.data == failure("Unauthorized(address)", ALICE)


# --- The supply ---


TOKENS = [L1_TOKEN, Address(b"\x71" * 20)]
AMOUNTS = st.integers(0, 1_000)
STEPS = st.tuples(
    st.sampled_from(["deposit", "by asset", "by token", "transfer"]),
    st.sampled_from(TOKENS),
    st.sampled_from([0, 1]),
    AMOUNTS,
)


@settings(max_examples=examples(15))
@given(st.lists(STEPS, max_size=12))
def test_the_supply_is_what_was_deposited_and_not_withdrawn(
    steps: list[tuple[str, Address, int, int]],
) -> None:
    with closing(LayerTwo()) as l2:
        supply = dict.fromkeys(TOKENS, 0)
        for kind, token, who, amount in steps:
            supply[token] += _do(l2, kind, token, who, amount)
        for token, expected in supply.items():
            _check(l2, _address_of(l2, token), expected)


def _do(l2: LayerTwo, kind: str, l1_token: Address, who: int, amount: int) -> int:
    """Do one action, and return the expected change of the supply."""
    owner, other = (ALICE, BOB) if who == 0 else (BOB, ALICE)
    if kind == "deposit":
        assert l2.deposit(amount, receiver=owner, token=l1_token).succeeded
        return amount
    token = _address_of(l2, l1_token)
    if kind == "transfer":
        l2.send(token, calldata("transfer(address,uint256)", other, amount), by=who)
        return 0
    data = encode("(uint256,address,address)", amount, other, token)
    call = (
        calldata("withdraw(bytes32,bytes)", asset_id(L1_CHAIN_ID, l1_token), data)
        if kind == "by asset"
        else calldata("withdraw(address,address,uint256)", other, token, amount)
    )
    before = l2.token_balance(token, owner) if l2.code(token) else 0
    outcome = l2.send(ASSET_ROUTER, call, by=who)
    assert outcome.succeeded == (0 < amount <= before)
    assert len(outcome.l2_to_l1_logs) == outcome.succeeded
    return -amount if outcome.succeeded else 0


def _address_of(l2: LayerTwo, l1_token: Address) -> Address:
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", l1_token))


def _check(l2: LayerTwo, token: Address, expected: int) -> None:
    if not l2.code(token):
        assert expected == 0
        return
    assert l2.read(token, "totalSupply()(uint256)") == expected
    assert l2.token_balance(token, ALICE) + l2.token_balance(token, BOB) == expected
