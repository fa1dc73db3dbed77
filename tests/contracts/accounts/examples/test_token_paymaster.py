"""The example paymaster that takes a token."""

from __future__ import annotations

import pytest

from entresol.errors import AccountRejection
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import GENERAL, ScriptedWorld, approval_based
from tests.support.contracts.layer_two import ALICE, ETHER, artifact_for_tests, failure


@pytest.fixture
def token(l2: ScriptedWorld) -> Address:
    """Mint tokens for Alice."""
    return l2.token(amount=50)


@pytest.fixture
def paymaster(l2: ScriptedWorld, token: Address) -> Address:
    """Deploy the paymaster with an ether."""
    paymaster = l2.deploy(artifact_for_tests("TokenPaymaster"), "(address)", token)
    assert l2.send(paymaster, b"", value=ETHER).succeeded
    return paymaster


def test_it_takes_its_token_and_pays(l2: ScriptedWorld, token: Address, paymaster: Address) -> None:
    before = l2.balance(ALICE)
    transaction = l2.from_key(paymaster=paymaster, paymaster_input=approval_based(token, 1))
    InlineSequencer(l2.chain).submit(transaction.raw)
    assert l2.last().succeeded
    assert l2.balance(ALICE) == before
    assert (l2.token_balance(token, ALICE), l2.token_balance(token, paymaster)) == (49, 1)


UNSUPPORTED = failure("UnsupportedPaymasterFlow()").hex()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (lambda token: approval_based(token, 0), "Min allowance too low"),
        (
            lambda _token: GENERAL,
            f"Error function_selector = 0x{UNSUPPORTED}, data = 0x{UNSUPPORTED}",
        ),
    ],
    ids=["nothing", "general"],
)
def test_it_takes_nothing_less(
    l2: ScriptedWorld, token: Address, paymaster: Address, message: object, reason: str
) -> None:
    content = message(token)  # type: ignore[operator]
    with pytest.raises(AccountRejection) as raised:
        InlineSequencer(l2.chain).submit(
            l2.from_key(paymaster=paymaster, paymaster_input=content).raw
        )
    assert raised.value.reason == reason


def test_it_takes_no_other_token(l2: ScriptedWorld, paymaster: Address) -> None:
    other = l2.token()
    transaction = l2.from_key(paymaster=paymaster, paymaster_input=approval_based(other, 1))
    with pytest.raises(AccountRejection, match="Invalid token"):
        InlineSequencer(l2.chain).submit(transaction.raw)
