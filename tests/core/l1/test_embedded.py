"""`LayerOne` over a chain in this process, which may be a fork."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.errors import RemoteUnreachable
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address
from entresol.sequencer.local import LocalSequencer
from tests.support.chain.dev_chain import ALICE, NOBODY, SECRETS, fee_market
from tests.support.fork.fake_remote import FakeRemote, RemoteAccount
from tests.support.fork.running_fork import open_fork, remote_of
from tests.support.known import known

RULES = ChainRules.layer_1()
# Returns what is in slot 0.
READER, CODE = Address(b"\xc0" * 20), bytes.fromhex("5f545f5260205ff3")


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    """Return a remote with an account and a contract."""
    with remote_of(Genesis.development(RULES.chain_id, [ALICE], 10**20, {})) as remote:
        remote.accounts[bytes(READER)] = RemoteAccount(1, 0, CODE)
        remote.slots[bytes(READER), 0] = 42
        yield remote


@pytest.fixture
def chain(remote: FakeRemote) -> Iterator[Chain]:
    chain = open_fork(remote, RULES)
    yield chain
    chain.close()


async def test_a_forked_l1_is_read_executed_and_written_with_nothing_in_memory(
    chain: Chain, remote: FakeRemote
) -> None:
    """As the rollup does: balances, nonces, code, calls, estimates and transactions."""
    sequencer = LocalSequencer(chain)
    l1 = EmbeddedLayerOne(chain, sequencer)
    read: list[object] = [await l1.call(READER, b""), await l1.code(READER)]
    read += [await l1.balance(ALICE), await l1.nonce(ALICE)]
    gas = await l1.estimate_gas(ALICE, NOBODY, b"")
    fees = await l1.fees()
    fee = 2 * fees.base_fee + fees.tip
    payload = fee_market(
        0, NOBODY, chain_id=RULES.chain_id, value=1, gas=gas, fee=fee, tip=fees.tip
    )
    receipt = known(await l1.receipt(await l1.send(sign(payload, SECRETS[0]).raw)))
    await sequencer.stop()
    found = [*read, gas, receipt.succeeded]
    assert found == [(42).to_bytes(32), CODE, 10**20, 0, 21_000, True]
    assert remote.asked_of("slot")


async def test_a_remote_that_fails_is_the_error_of_the_read(
    chain: Chain, remote: FakeRemote
) -> None:
    """The rollup tries again later."""
    remote.failure = RemoteUnreachable("http://127.0.0.1:1", "eth_getProof", "refused")

    l1 = EmbeddedLayerOne(chain, LocalSequencer(chain))
    with pytest.raises(RemoteUnreachable):
        await l1.balance(ALICE)
    with pytest.raises(RemoteUnreachable):
        await l1.call(READER, b"")
