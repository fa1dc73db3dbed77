from __future__ import annotations

from entresol.chain.mempool.sidecars import BlobSidecars
from entresol.primitives.transactions import Transaction, decode
from tests.support.blobs import blob_transaction, sample_blob, sample_sidecar

SECRET = b"\1" * 32


def carrying(*seeds: int, nonce: int = 0) -> Transaction:
    return decode(blob_transaction(SECRET, sample_sidecar(*seeds), nonce=nonce))


def test_blobs_are_found_by_their_hash_and_by_their_transaction() -> None:
    sidecars, transaction = BlobSidecars(), carrying(1, 2)
    sidecars.add(7, [transaction])
    found = sidecars.get(transaction.hash)
    assert found is not None
    assert found.blobs == (sample_blob(1), sample_blob(2))
    assert sidecars.blob(sample_sidecar(2).hashes[0]) == sample_blob(2)
    assert sidecars.blob(sample_sidecar(3).hashes[0]) is None


def test_reverted_blocks_take_their_blobs_along() -> None:
    sidecars, first, second = BlobSidecars(), carrying(1), carrying(2, nonce=1)
    sidecars.add(1, [first])
    sidecars.add(2, [second])
    sidecars.drop_above(1)
    assert sidecars.get(first.hash) is not None
    assert sidecars.get(second.hash) is None
    sidecars.drop_above(-1)
    assert sidecars.size == 0


def test_the_oldest_are_dropped_beyond_the_limit() -> None:
    transactions = [carrying(1, nonce=nonce) for nonce in range(4)]
    assert transactions[0].sidecar is not None
    sidecars = BlobSidecars(max_bytes=2 * transactions[0].sidecar.size)
    for number, transaction in enumerate(transactions):
        sidecars.add(number, [transaction])
        assert sidecars.size <= sidecars.max_bytes
    assert [sidecars.get(it.hash) is not None for it in transactions] == [False, False, True, True]


def test_a_transaction_that_is_sealed_again_counts_once() -> None:
    sidecars, transaction = BlobSidecars(), carrying(1)
    sidecars.add(1, [transaction])
    size = sidecars.size
    sidecars.add(2, [transaction])
    assert sidecars.size == size
