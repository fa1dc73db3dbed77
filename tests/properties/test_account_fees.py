"""Fees of transactions that run in steps are conserved to the wei, however each step ends, and nobody else pays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entresol.errors import AccountRejection
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address
from tests.support.contracts.accounts import (
    AGREES,
    ASK_PAYMASTER,
    EAT_GAS,
    EXECUTE,
    GAS,
    INVALID,
    NOBODY,
    PAY,
    PAYS,
    POST,
    PREPARE,
    RETURN,
    REVERT,
    VALIDATE,
    ScriptedWorld,
    pay,
    use_nonce,
)
from tests.support.contracts.layer_two import ALICE, ETHER, FEE
from tests.support.run.examples import examples

COST = GAS * FEE
ENDINGS = st.sampled_from([RETURN] * 6 + [REVERT, INVALID, EAT_GAS])
EXCESS = st.sampled_from([-1, 0, 0, 1, COST])


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[ScriptedWorld, Address, Address]]:
    l2 = ScriptedWorld()
    yield l2, l2.account(), l2.paymaster()
    l2.close()


class Case:
    """One transaction, and how its steps end."""

    def __init__(self, l2: ScriptedWorld, account: Address, paymaster: Address) -> None:
        self.l2, self.account, self.paymaster = l2, account, paymaster

    def refill(self) -> None:
        """Give everybody an ether, so that only agreement decides who pays."""
        for address in (self.account, self.paymaster):
            self.l2.chain.edit(address, lambda it, at=address: it.set_balance(at, ETHER))  # type: ignore[misc]

    def write(self, endings: dict[str, int], excess: int, value: int) -> None:
        l2, nonce = self.l2, self.l2.min_nonce(self.account)
        fee = pay(COST + excess)
        calls = {VALIDATE: [use_nonce(nonce)], PAY: [fee], EXECUTE: [(NOBODY, value, b"")]}
        for function, output in ((VALIDATE, AGREES), (PAY, b""), (PREPARE, b""), (EXECUTE, b"")):
            calls_of = calls.get(function, [])
            l2.script(self.account, function, *calls_of, ending=endings[function], output=output)
        l2.script(self.paymaster, ASK_PAYMASTER, fee, ending=endings[ASK_PAYMASTER], output=PAYS)
        l2.script(self.paymaster, POST, ending=endings[POST])

    def balances(self) -> dict[Address, int]:
        everybody = (ALICE, self.account, self.paymaster, NOBODY, BOOTLOADER)
        return {address: self.l2.balance(address) for address in everybody}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    is_contract=st.booleans(),
    is_sponsored=st.booleans(),
    endings=st.fixed_dictionaries(
        dict.fromkeys((VALIDATE, PAY, PREPARE, ASK_PAYMASTER, EXECUTE, POST), ENDINGS)
    ),
    excess=EXCESS,
    value=st.sampled_from([0, 1, 10**9]),
)
def test_fees_are_conserved_and_only_the_payer_pays(
    world: tuple[ScriptedWorld, Address, Address],
    *,
    is_contract: bool,
    is_sponsored: bool,
    endings: dict[str, int],
    excess: int,
    value: int,
) -> None:
    l2 = world[0]
    case = Case(*world)
    case.refill()
    case.write(endings, excess, value)
    paymaster: dict[str, Any] = {"paymaster": case.paymaster} if is_sponsored else {}
    transaction: Transaction
    if is_contract:
        nonce = l2.min_nonce(case.account)
        transaction = l2.from_contract(case.account, nonce=nonce, value=value, **paymaster)
    else:
        transaction = l2.from_key(value=value, **paymaster)
    sender = case.account if is_contract else ALICE
    before, supply, nonces = (
        case.balances(),
        l2.supply(),
        (l2.nonce(ALICE), l2.min_nonce(case.account)),
    )
    try:
        result = l2.include(transaction)
    except AccountRejection:
        assert case.balances() == before
        assert (l2.nonce(ALICE), l2.min_nonce(case.account)) == nonces
        return
    fee, moved = result.gas_used * FEE, value if result.succeeded else 0
    expected = dict(before)
    expected[case.paymaster if is_sponsored else sender] -= fee
    expected[sender] -= moved
    expected[NOBODY] += moved
    assert case.balances() == expected
    assert l2.supply() == supply - fee
    assert (l2.nonce(ALICE), l2.min_nonce(case.account)) == (
        nonces[0] + (not is_contract),
        nonces[1] + is_contract,
    )
