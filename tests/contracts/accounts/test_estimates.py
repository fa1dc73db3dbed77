"""What transactions of accounts and with paymasters cost: estimates, and bytes that are published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entresol._native import address_of, public_key
from entresol.chain.mempool.validation import intrinsic_gas
from entresol.errors import EstimateRejection, ExecutionReverted, IntrinsicGasTooLow
from entresol.execution.calls import CallRequest, ZkCall, estimate_gas, estimate_l1_to_l2_gas
from entresol.features.dev.reverts import Reverts
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.transactions import (
    Access,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    Paymaster,
    PriorityTransaction,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
)
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.rpc.types.call_request import Eip712Meta, PaymasterParams
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
    FEE,
    SECRETS,
    artifact_for_tests,
    calldata,
    failure,
)
from tests.support.run.examples import examples

OWNERS = SECRETS
OWNER_MARGIN = 100_000
NEW_ACCOUNT_GAS = 25_000


@pytest.fixture
def multisig(l2: ScriptedWorld) -> Address:
    return l2.multisig()


def estimate(l2: ScriptedWorld, **fields: object) -> int:
    request = CallRequest(**{"sender": ALICE, "to": NOBODY, **fields})  # type: ignore[arg-type]
    return estimate_gas(l2.evm_env(), request).gas


def test_the_estimate_of_an_owner_includes_what_a_new_recipient_costs(l2: ScriptedWorld) -> None:
    meta = ZkCall(has_meta=True)
    new = estimate(l2, value=5, zk=meta)
    assert new == 21_000 + OWNER_MARGIN + NEW_ACCOUNT_GAS
    assert estimate(l2, value=0, zk=meta) == estimate(l2, to=BOB, value=5, zk=meta)


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


class Paying(NamedTuple):
    """An L2 with accounts, a token that they have, and a paymaster that takes it."""

    l2: ScriptedWorld
    accounts: dict[str, tuple[Address, list[bytes]]]
    token: Address
    paymaster: Address

    def zk(self, flow: str, *, has_meta: bool = False) -> ZkCall:
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


# --- Bytes that are published ---


CODE = bytes(100 * 32) + b"\x5b" * (9 * 32)
DEPS = (CODE, b"\x01" * 32)
TOKENS = 100 * 32 + 4 * (9 * 32 + 32)
NEEDED = 21_000 + 10 * TOKENS


@pytest.fixture
def single_owner(l2: ScriptedWorld) -> Address:
    return l2.multisig(ALICE, threshold=1)


def senders(l2: ScriptedWorld, single_owner: Address, gas_limit: int) -> dict[str, Transaction]:
    """Return transactions that publish: of a key, with a paymaster, and of a contract account."""
    own = fill(single_owner, factory_deps=DEPS, gas_limit=gas_limit)
    return {
        "key": l2.from_key(factory_deps=DEPS, gas_limit=gas_limit),
        "paymaster": l2.from_key(
            factory_deps=DEPS, gas_limit=gas_limit, paymaster=TESTNET_PAYMASTER
        ),
        "account": l2.from_contract(
            single_owner,
            sign_by(own, SECRETS[0]).custom_signature,
            factory_deps=DEPS,
            gas_limit=gas_limit,
        ),
    }


def priority(gas_limit: int, *deps: bytes) -> PriorityTransaction:
    return PriorityTransaction(
        sender=ALICE,
        to=NOBODY,
        gas_limit=gas_limit,
        gas_per_pubdata_limit=800,
        max_fee_per_gas=FEE,
        nonce=0,
        to_mint=gas_limit * FEE,
        refund_recipient=BOB,
        factory_dep_hashes=tuple(map(eravm_hash, deps)),
        factory_deps=deps,
    )


def test_they_cost_what_calldata_costs(l2: ScriptedWorld) -> None:
    published = l2.include(l2.from_key(factory_deps=DEPS))
    sent = l2.include(l2.from_key(data=b"".join(DEPS)))
    assert published.gas_used == sent.gas_used == NEEDED


@pytest.mark.parametrize("kind", ["key", "paymaster", "account"])
def test_a_block_rejects_a_gas_limit_that_does_not_cover_them(
    l2: ScriptedWorld, single_owner: Address, kind: str
) -> None:
    transaction = senders(l2, single_owner, NEEDED - 1)[kind]
    with pytest.raises(IntrinsicGasTooLow) as in_block:
        l2.include(transaction)
    with pytest.raises(IntrinsicGasTooLow) as in_pool:
        InlineSequencer(l2.chain).submit(transaction.raw)
    assert in_block.value.needed == in_pool.value.needed


@pytest.mark.parametrize("kind", ["key", "paymaster", "account"])
def test_the_estimate_covers_them(l2: ScriptedWorld, single_owner: Address, kind: str) -> None:
    meta = Eip712Meta(factory_deps=list(DEPS))  # type: ignore[arg-type]
    if kind == "paymaster":
        params = PaymasterParams(paymaster=TESTNET_PAYMASTER, paymaster_input=GENERAL)  # type: ignore[arg-type]
        meta = msgspec.structs.replace(meta, paymaster_params=params)
    sender = single_owner if kind == "account" else ALICE
    request = CallRequest(sender=sender, to=NOBODY, zk=meta.call())
    gas = estimate_gas(l2.evm_env(), request).gas
    assert gas >= NEEDED
    InlineSequencer(l2.chain).submit(senders(l2, single_owner, gas)[kind].raw)
    assert l2.last().succeeded


def test_a_deposit_that_cannot_pay_for_them_fails_and_uses_its_gas(l2: ScriptedWorld) -> None:
    result = l2.take(priority(NEEDED - 1, *DEPS))
    assert not result.succeeded
    assert result.gas_used == NEEDED - 1


def test_the_estimate_of_a_deposit_covers_them(l2: ScriptedWorld) -> None:
    code = b"\x5b" * (1_001 * 32)
    gas = estimate_l1_to_l2_gas(l2.evm_env(), priority(0, code))
    assert gas >= 21_000 + 40 * len(code)
    assert l2.take(priority(gas, code)).succeeded


# --- A chain that publishes its data ---


UNREAD = bytes(100) + b"\x01" * 900
UNREAD_COST = 21_000 + 10 * (100 + 4 * 900)
NO_ADDRESS = Address.zero()


@pytest.fixture
def publishing() -> Iterator[ScriptedWorld]:
    """Return a chain that publishes."""
    layer = ScriptedWorld(publishes=True)
    yield layer
    layer.close()


def unread(publishing: ScriptedWorld, gas_limit: int, kind: str = "key") -> Transaction:
    fields: dict[str, Any] = {
        "paymaster": NO_ADDRESS,
        "paymaster_input": UNREAD,
        "gas_limit": gas_limit,
    }
    if kind == "key":
        return publishing.from_key(**fields)
    account = publishing.multisig(ALICE, threshold=1)
    signature = sign_by(fill(account, **fields), SECRETS[0]).custom_signature
    return publishing.from_contract(account, signature, **fields)


def test_the_input_of_no_paymaster_costs_what_calldata_costs(publishing: ScriptedWorld) -> None:
    published = publishing.include(unread(publishing, 200_000))
    sent = publishing.include(publishing.from_key(data=UNREAD))
    assert published.gas_used == sent.gas_used == UNREAD_COST


@pytest.mark.parametrize("kind", ["key", "account"])
def test_pool_and_block_reject_the_same_gas_limit(publishing: ScriptedWorld, kind: str) -> None:
    transaction = unread(publishing, UNREAD_COST - 1, kind)
    with pytest.raises(IntrinsicGasTooLow) as in_block:
        publishing.include(transaction)
    with pytest.raises(IntrinsicGasTooLow) as in_pool:
        InlineSequencer(publishing.chain).submit(transaction.raw)
    assert in_block.value.needed == in_pool.value.needed >= UNREAD_COST


def test_the_estimate_covers_it(publishing: ScriptedWorld, l2: ScriptedWorld) -> None:
    params = PaymasterParams(paymaster=NO_ADDRESS, paymaster_input=UNREAD)  # type: ignore[arg-type]
    request = CallRequest(sender=ALICE, to=NOBODY, zk=Eip712Meta(paymaster_params=params).call())
    plain = CallRequest(sender=ALICE, to=NOBODY, zk=Eip712Meta().call())
    with_input, without = (estimate_gas(publishing.evm_env(), it).gas for it in (request, plain))
    assert with_input - without >= UNREAD_COST - 21_000
    assert estimate_gas(l2.evm_env(), request) == estimate_gas(l2.evm_env(), plain)
    InlineSequencer(publishing.chain).submit(unread(publishing, with_input).raw)
    assert publishing.last().succeeded


ANYBODY = Address(b"\x11" * 20)
WORD = Hash32(b"\x11" * 32)
SIGNED: dict[str, Any] = {
    "to": ANYBODY,
    "nonce": 2**64 - 2,
    "gas_limit": 2**64 - 1,
    "value": 2**256 - 1,
    "chain_id": 2**64 - 1,
    "r": 2**256 - 1,
    "s": 2**256 - 1,
}
PRICED = SIGNED | {"max_fee_per_gas": 2**128 - 1, "max_priority_fee_per_gas": 2**128 - 1}
ACCESSED = (Access(ANYBODY, (WORD,) * 3),) * 100
AUTHORIZED = (Authorization(2**256 - 1, ANYBODY, 2**64 - 1, 1, 2**256 - 1, 2**256 - 1),) * 100
ZK: dict[str, Any] = {"sender": ANYBODY, "custom_signature": b"\x11" * 65}


@pytest.mark.parametrize(
    ("payload", "charged"),
    [
        (LegacyTransaction(**SIGNED | {"chain_id": 2**62}, gas_price=2**128 - 1, y_parity=1), ()),
        (FeeMarketTransaction(**PRICED, access_list=ACCESSED, y_parity=1), ()),
        (SetCodeTransaction(**PRICED, authorizations=AUTHORIZED, y_parity=1), ()),
        (
            ZkTransaction(
                **PRICED,
                **ZK,
                v=28,
                gas_per_pubdata_limit=2**64 - 1,
                factory_deps=(WORD,) * 32,
                paymaster=Paymaster(ANYBODY),
            ),
            (WORD,) * 32,
        ),
    ],
    ids=["legacy", "fee market", "set code", "0x71"],
)
def test_the_gas_of_every_transaction_pays_for_the_fields_that_have_a_limit(
    payload: SignedPayload, charged: tuple[bytes, ...]
) -> None:
    """Nothing that is published is cheaper than the calldata that carries it to L1."""
    assert intrinsic_gas(payload, also=charged) >= 40 * len(payload.encode())
