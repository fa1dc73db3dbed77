"""The supply of tokens is the sum of deposits less withdrawals, after any actions."""

from __future__ import annotations

from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.primitives.base_token import asset_id
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    L1_CHAIN_ID,
    L1_TOKEN,
    LayerTwo,
    calldata,
    encode,
)
from tests.support.run.examples import examples

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


@settings(max_examples=5)
@given(st.lists(AMOUNTS, max_size=5))
def test_the_base_token_contract_holds_what_was_withdrawn(amounts: list[int]) -> None:
    with closing(LayerTwo()) as l2:
        for amount in amounts:
            assert l2.send(BASE_TOKEN, calldata("withdraw(address)", BOB), value=amount).succeeded
        assert l2.balance(BASE_TOKEN) == sum(amounts)
        assert l2.read(BASE_TOKEN, "totalWithdrawn()(uint256)") == sum(amounts)


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
