"""Estimates and traces of calls that stand for transactions of contract accounts or with paymasters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entresol._native import address_of, public_key
from entresol.dev.reverts import Reverts
from entresol.errors import EstimateRejection, ExecutionReverted, InsufficientFunds
from entresol.execution.calls import CallRequest, ZkCall, estimate_gas
from entresol.execution.tracing import TraceBudget, TraceLimits, trace_call
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import (
    AGREES,
    ASK_PAYMASTER,
    EXECUTE,
    GENERAL,
    NOBODY,
    PAY,
    REVERT,
    VALIDATE,
    ScriptedWorld,
    approval_based,
    fill,
    sign_by,
    use_nonce,
)
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    SECRETS,
    artifact_for_tests,
    calldata,
    failure,
)
from tests.support.run.examples import examples

OWNERS = SECRETS
OWNER_MARGIN = 100_000
NEW_ACCOUNT_GAS = 25_000
FREE = ZkCall(paymaster=TESTNET_PAYMASTER, paymaster_input=GENERAL)


@pytest.fixture
def multisig(l2: ScriptedWorld) -> Address:
    """Deploy an account that Alice and Bob own."""
    return l2.multisig()


def estimate(l2: ScriptedWorld, **fields: object) -> int:
    """Return the estimate of a transaction."""
    request = CallRequest(**{"sender": ALICE, "to": NOBODY, **fields})  # type: ignore[arg-type]
    return estimate_gas(l2.evm_env(), request).gas


def test_the_estimate_of_an_owner_includes_what_a_new_recipient_costs(l2: ScriptedWorld) -> None:
    meta = ZkCall(has_meta=True)
    new = estimate(l2, value=5, zk=meta)
    assert new == 21_000 + OWNER_MARGIN + NEW_ACCOUNT_GAS
    assert estimate(l2, value=0, zk=meta) == estimate(l2, to=BOB, value=5, zk=meta)


def test_an_estimate_with_a_custom_signature_uses_it(l2: ScriptedWorld, multisig: Address) -> None:
    short = estimate(l2, sender=multisig, zk=ZkCall(signature=b"\x01"))
    long = estimate(l2, sender=multisig, zk=ZkCall(signature=b"\x01" * 5_000))
    assert long > short + 5_000 * 16


@pytest.mark.parametrize(
    ("function", "output", "text"),
    [
        (VALIDATE, "no", "failed to validate the transaction. reason: no"),
        (PAY, "no", "not enough balance to cover the fee. error message: no"),
    ],
)
def test_the_texts_of_estimates_are_the_networks(
    l2: ScriptedWorld, function: str, output: str, text: str
) -> None:
    account = l2.account()
    l2.script(account, function, ending=REVERT, output=failure("Error(string)", output))
    with pytest.raises(EstimateRejection) as raised:
        estimate(l2, sender=account)
    assert str(raised.value) == text


def test_the_texts_of_paymasters_are_the_networks(l2: ScriptedWorld) -> None:
    paymaster = l2.paymaster()
    zk = ZkCall(paymaster=paymaster, paymaster_input=b"")
    with pytest.raises(
        EstimateRejection, match=r"^failed pre-paymaster preparation\. error message: "
    ):
        estimate(l2, zk=zk)
    l2.script(paymaster, ASK_PAYMASTER, ending=REVERT, output=failure("Error(string)", "no"))
    with pytest.raises(
        EstimateRejection, match=r"^failed paymaster validation\. error message: no$"
    ):
        estimate(l2, zk=ZkCall(paymaster=paymaster, paymaster_input=GENERAL))


def test_a_failing_execution_is_reported_as_a_revert(l2: ScriptedWorld, multisig: Address) -> None:
    target = l2.contract()
    l2.script(target, b"fail", ending=REVERT, output=failure("Error(string)", "broken"))
    with pytest.raises(ExecutionReverted, match="broken"):
        estimate(l2, sender=multisig, to=target, data=b"fail")


def test_a_plain_contract_has_an_estimate_unless_it_is_to_send(l2: ScriptedWorld) -> None:
    contract = l2.contract(ether=ETHER)
    assert estimate(l2, sender=contract) == 21_000
    with pytest.raises(EstimateRejection, match="can't start a transaction from a non-account"):
        estimate(l2, sender=contract, zk=ZkCall())


def test_the_value_has_to_be_there(l2: ScriptedWorld) -> None:
    with pytest.raises(InsufficientFunds):
        estimate(l2, value=1_000 * ETHER, zk=FREE)


def test_a_zero_magic_is_ignored_and_a_missing_nonce_mark_is_not(l2: ScriptedWorld) -> None:
    account = l2.contract(ether=ETHER)
    l2.set_version(account, 1)
    l2.script(account, VALIDATE, use_nonce(0), output=bytes(32))
    l2.script(account, EXECUTE)
    with pytest.raises(EstimateRejection, match="not enough balance to cover the fee"):
        estimate(l2, sender=account)
    l2.script(account, VALIDATE, output=AGREES)
    with pytest.raises(EstimateRejection, match="nonce was not marked"):
        estimate(l2, sender=account)


def test_a_given_nonce_is_taken_as_the_accounts(l2: ScriptedWorld, multisig: Address) -> None:
    # The first use of a nonce writes a slot that was empty.
    first = 13 * (20_000 + 2_100 - 5_000) // 10
    assert estimate(l2, sender=multisig, nonce=7) == pytest.approx(
        estimate(l2, sender=multisig) - first, abs=2_000
    )


def test_a_traced_call_shows_the_steps(l2: ScriptedWorld, multisig: Address) -> None:
    request = CallRequest(sender=multisig, to=NOBODY, zk=ZkCall())
    budget = TraceBudget(TraceLimits())
    ran = trace_call(l2.evm_env(), request, b'{"tracer":"callTracer"}', budget, 10_000_000)
    root = json.loads(ran.trace or b"")
    assert root["to"] == str(BOOTLOADER)
    assert len(root["calls"]) == 3


class Paying(NamedTuple):
    """An L2 with accounts, a token that they have, and a paymaster that takes it."""

    l2: ScriptedWorld
    accounts: dict[str, tuple[Address, list[bytes]]]
    token: Address
    paymaster: Address

    def zk(self, flow: str, *, has_meta: bool = False) -> ZkCall:
        """Return the fields of a flow."""
        offer = approval_based(self.token, 1)
        return {
            "none": ZkCall(has_meta=has_meta),
            "general": ZkCall(
                paymaster=TESTNET_PAYMASTER, paymaster_input=GENERAL, has_meta=has_meta
            ),
            "token": ZkCall(paymaster=self.paymaster, paymaster_input=offer, has_meta=has_meta),
        }[flow]

    def send(self, kind: str, call: CallRequest, gas: int) -> bool:
        """Send what was estimated, signed by all keys, and return whether it succeeded."""
        account, keys = self.accounts[kind]
        assert call.zk is not None
        payload = fill(
            account,
            nonce=self.l2.nonce(account) if kind == "key" else self.l2.min_nonce(account),
            to=call.to,
            value=call.value,
            data=call.data,
            gas_limit=gas,
            paymaster=call.zk.paymaster,
            paymaster_input=call.zk.paymaster_input,
        )
        InlineSequencer(self.l2.chain).submit(sign_by(payload, *keys).encode())
        return self.l2.last().succeeded


MORE_KEYS = [bytes([0x31 + i]) * 32 for i in range(2)]
MORE_OWNERS = [Address(address_of(public_key(key))) for key in MORE_KEYS]
FLOWS = st.sampled_from(["none", "general", "token"])
RECIPIENTS = st.one_of(
    st.sampled_from([BOB, Address(b"\x98" * 20)]),
    st.binary(min_size=20, max_size=20).map(lambda tail: Address(b"\x97" + tail[1:])),
)


@pytest.fixture
def paying(l2: ScriptedWorld) -> Paying:
    """Return accounts that have never sent anything, so that each slot is cold and each nonce the first."""
    three = [ALICE, BOB, *MORE_OWNERS[:1]]
    session = l2.deploy(artifact_for_tests("SessionAccount"), "(address)", ALICE)
    accounts = {
        "key": (ALICE, OWNERS[:1]),
        "2 of 2": (l2.multisig(), OWNERS),
        "2 of 3": (l2.multisig(*three), [OWNERS[0], MORE_KEYS[0]]),
        "4 of 4": (l2.multisig(ALICE, BOB, *MORE_OWNERS, threshold=4), [*OWNERS, *MORE_KEYS]),
        "session": (session, OWNERS[:1]),
    }
    token = l2.token()
    paymaster = l2.deploy(artifact_for_tests("TokenPaymaster"), "(address)", token)
    for account, _ in accounts.values():
        assert l2.send(token, calldata("mint(address,uint256)", account, 1_000)).succeeded
    for address in (paymaster, session):
        assert l2.send(address, b"", value=ETHER).succeeded
    return Paying(l2, accounts, token, paymaster)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(["key", "2 of 2", "2 of 3", "4 of 4", "session"]),
    is_by_owner=st.booleans(),
    flow=FLOWS,
    value=st.sampled_from([0, 5]),
    to=RECIPIENTS,
    data=st.binary(max_size=300),
)
def test_an_estimate_used_as_the_limit_succeeds(
    paying: Paying, *, kind: str, is_by_owner: bool, flow: str, value: int, to: Address, data: bytes
) -> None:
    """Also the estimate of an owner, which is how zksync-ethers estimates for an account."""
    sender = ALICE if is_by_owner else paying.accounts[kind][0]
    zk = paying.zk(flow, has_meta=is_by_owner)
    call = CallRequest(sender=sender, to=to, value=value, data=data, zk=zk)
    with reverted(paying.l2):
        assert paying.send(kind, call, estimate_gas(paying.l2.evm_env(), call).gas)


@contextmanager
def reverted(l2: ScriptedWorld) -> Iterator[None]:
    """Revert the chain afterwards, so that every example starts cold."""
    reverts = Reverts(l2.chain)
    checkpoint = reverts.checkpoint()
    yield
    assert reverts.restore(checkpoint)
