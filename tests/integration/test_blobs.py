"""Blob transactions on a chain of its own: pool, blocks, reverts, restarts, and clients that mean harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from entresol import errors
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.keyring import Keyring
from entresol.chain.mempool import PoolConfig
from entresol.chain.rules import ChainRules
from entresol.features.dev.reverts import Reverts
from entresol.primitives.transactions import decode
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.blobs import (
    BLOB_GAS,
    BLOB_SIZE,
    SampleSidecar,
    blob_transaction,
    sample_blob,
    sample_sidecar,
)
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import open_chain
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

ACCOUNTS = derive(DEVELOPMENT_MNEMONIC, 4)
SECRETS = [account.secret for account in ACCOUNTS]
ETHER = 10**18
GENESIS = Genesis.development(31337, [account.address for account in ACCOUNTS], 10_000 * ETHER)


def open_layer_one(
    path: Path | None = None, *, fork: str = "osaka", limit_bytes: int = 2**27
) -> Chain:
    rules = msgspec.structs.replace(ChainRules.layer_1(), fork=fork)
    pool = PoolConfig(limit_bytes=limit_bytes)
    return Chain.open(path, rules, GENESIS, clock=Clock(lambda: 1_000.0), pool=pool)


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = open_layer_one()
    yield chain
    chain.close()


def balance(chain: Chain, index: int = 0) -> int:
    account = chain.latest.account(ACCOUNTS[index].address)
    return 0 if account is None else account.balance


def test_blob_gas_is_paid_and_burnt(chain: Chain) -> None:
    before = balance(chain)
    InlineSequencer(chain).submit(blob_transaction(SECRETS[0], sample_sidecar(1, 2), tip=0))
    header = chain.head
    spent = header.gas_used * header.base_fee_per_gas + 2 * BLOB_GAS
    assert balance(chain) == before - spent
    assert chain.latest.account(header.beneficiary) is None
    assert header.blob_gas_used == 2 * BLOB_GAS


def test_a_transaction_waits_until_the_price_falls_to_its_cap(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    cheap = decode(blob_transaction(SECRETS[2], sample_sidecar(1), blob_fee=1))
    chain.add(cheap)
    for nonce in range(30):
        for index, seeds in ((0, range(6)), (1, range(3))):
            raw = blob_transaction(
                SECRETS[index], sample_sidecar(*seeds), nonce=nonce, fee_cap=2 * 10**11, tip=10**11
            )
            chain.add(decode(raw))
        chain.builder.seal()
    assert chain.next_blob_base_fee() > 1
    assert chain.pool.get(cheap.hash) is not None
    assert not chain.filler.has_work
    while chain.pool.get(cheap.hash) is not None:
        chain.builder.seal()
    assert chain.head.blob_gas_used == BLOB_GAS
    with pytest.raises(errors.InvalidTransaction):
        InlineSequencer(chain).submit(
            blob_transaction(SECRETS[2], sample_sidecar(1), blob_fee=0, nonce=1)
        )


def test_a_reorg_makes_blobs_pending_again(chain: Chain) -> None:
    sent = InlineSequencer(chain).submit(blob_transaction(SECRETS[0], sample_sidecar(1)))
    chain.history.rewind(0)
    assert chain.sidecars.get(sent) is None
    pending = chain.pool.get(sent)
    assert pending is not None
    assert pending.sidecar is not None
    chain.builder.seal()
    assert chain.sidecars.blob(sample_sidecar(1).hashes[0]) == sample_blob(1)


def test_a_snapshot_has_pending_blobs(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    sent = InlineSequencer(chain).submit(blob_transaction(SECRETS[0], sample_sidecar(1)))
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    chain.builder.seal()
    assert chain.sidecars.get(sent) is not None
    assert reverts.restore(checkpoint)
    assert chain.sidecars.get(sent) is None
    chain.builder.seal()
    assert chain.sidecars.get(sent) is not None


def test_a_restart_has_the_chain_without_its_blobs(tmp_path: Path) -> None:
    chain = open_layer_one(tmp_path)
    sent = InlineSequencer(chain).submit(blob_transaction(SECRETS[0], sample_sidecar(1)))
    head = chain.ledger.head_hash
    chain.close()
    chain = open_layer_one(tmp_path)
    assert chain.ledger.head_hash == head
    assert chain.blocks.locate_transaction(sent) is not None
    assert chain.sidecars.get(sent) is None
    chain.verify()
    InlineSequencer(chain).submit(blob_transaction(SECRETS[0], sample_sidecar(2), nonce=1))
    assert chain.number == 2
    chain.close()


def test_a_chain_from_before_the_fields_goes_on_with_them(tmp_path: Path) -> None:
    rules = msgspec.structs.replace(ChainRules.layer_1(), has_fork_fields=False)
    chain = Chain.open(tmp_path, rules, GENESIS, clock=Clock(lambda: 1_000.0))
    chain.builder.seal()
    assert chain.head.withdrawals_root is None
    chain.close()
    chain = open_layer_one(tmp_path)
    InlineSequencer(chain).submit(blob_transaction(SECRETS[0], sample_sidecar(1)))
    assert (chain.head.excess_blob_gas, chain.head.blob_gas_used) == (0, BLOB_GAS)
    chain.verify()
    chain.close()


def test_an_l2_rejects_the_type_before_it_looks_at_the_blobs() -> None:
    chain = open_chain()
    client = ApiClient(chain, keyring=Keyring(ACCOUNTS))
    raw = blob_transaction(SECRETS[0], sample_sidecar(1), chain_id=270)
    fields = {"from": str(ACCOUNTS[0].address), "to": "0x" + "11" * 20, **sample_sidecar(1).json()}
    for method, sent in (("eth_sendRawTransaction", hexed(raw)), ("eth_sendTransaction", fields)):
        with pytest.raises(RpcError, match="transaction type not supported: 0x3"):
            client(method, sent)
    assert chain.head.withdrawals_root is None
    client.api.close()
    chain.close()


# --- Clients that mean harm ----------------------------------------------------


def test_a_huge_sidecar_is_rejected_by_its_size(chain: Chain) -> None:
    blobs = SampleSidecar((bytes(BLOB_SIZE),) * 8, (bytes(48),) * 8, (bytes(48),) * 8)
    with pytest.raises(errors.TransactionRuleBroken, match="oversized data"):
        InlineSequencer(chain).submit(blob_transaction(SECRETS[0], blobs))


@pytest.mark.parametrize(
    "part", [{"blobs": ()}, {"commitments": ()}, {"proofs": ()}, {"blobs": (b"\1" * 31,)}]
)
def test_parts_that_do_not_match_are_rejected(
    chain: Chain, part: dict[str, tuple[bytes, ...]]
) -> None:
    sidecar = sample_sidecar(1)
    broken = sidecar._replace(**part)  # type: ignore[arg-type]
    with pytest.raises((errors.InvalidSidecar, errors.MalformedTransaction)):
        InlineSequencer(chain).submit(blob_transaction(SECRETS[0], broken, hashes=sidecar.hashes))
    assert len(chain.pool) == 0


def test_a_field_element_above_the_modulus_is_rejected(chain: Chain) -> None:
    broken = sample_sidecar(1)._replace(blobs=(b"\xff" * BLOB_SIZE,))
    with pytest.raises(errors.InvalidSidecar):
        InlineSequencer(chain).submit(blob_transaction(SECRETS[0], broken))


def test_many_blob_transactions_take_no_more_memory_than_the_pool_has() -> None:
    limit = 4 * 1024 * 1024
    chain = open_layer_one(limit_bytes=limit)
    chain.schedule.seal_on_request()
    rejected = 0
    for nonce in range(100):
        try:
            InlineSequencer(chain).submit(
                blob_transaction(SECRETS[nonce % 4], sample_sidecar(1), nonce=nonce // 4)
            )
        except errors.PoolRejection:
            rejected += 1
        assert chain.pool.size <= limit
    assert 0 < rejected < 100
    while chain.filler.has_work:
        chain.builder.seal()
        assert chain.sidecars.size <= chain.sidecars.max_bytes
    chain.close()
