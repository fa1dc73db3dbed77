"""The sidecar in a transaction object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from entresol.errors import (
    EntresolError,
    InvalidSidecar,
    MalformedTransaction,
    MalformedValue,
    TransactionRuleBroken,
)
from entresol.rpc.jsonrpc.codec import decode_hook
from entresol.rpc.services.fill_transaction import read_sidecar
from entresol.rpc.types.call_request import TransactionObject
from tests.support.blobs import Form, sample_sidecar

MAX_BLOBS = 3
TWO = sample_sidecar(1, 2)
CELLS = sample_sidecar(1, 2, form="cell proofs")


def transaction(**fields: Any) -> TransactionObject:
    text = msgspec.json.encode(fields)
    return msgspec.json.decode(text, type=TransactionObject, dec_hook=decode_hook)


@pytest.mark.parametrize("form", ["blob proofs", "cell proofs"])
def test_a_sidecar_of_either_form_is_read(form: Form) -> None:
    sample = sample_sidecar(1, 2, form=form)
    sidecar = read_sidecar(transaction(**sample.json()), MAX_BLOBS)
    assert [bytes(versioned) for versioned in sidecar.hashes] == sample.hashes
    assert [bytes(blob) for blob in sidecar.blobs] == list(sample.blobs)


def test_cell_proofs_may_have_their_own_name() -> None:
    fields = CELLS.json()
    fields["cellProofs"] = fields.pop("proofs")
    sidecar = read_sidecar(transaction(**fields), MAX_BLOBS)
    assert [bytes(versioned) for versioned in sidecar.hashes] == CELLS.hashes


def test_the_hashes_that_are_given_are_those_of_the_blobs() -> None:
    hashes = ["0x" + versioned.hex() for versioned in TWO.hashes]
    read_sidecar(transaction(**TWO.json(), blobVersionedHashes=hashes), MAX_BLOBS)
    with pytest.raises(InvalidSidecar):
        read_sidecar(transaction(**TWO.json(), blobVersionedHashes=hashes[::-1]), MAX_BLOBS)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"blobs": None}, TransactionRuleBroken),
        ({"commitments": None}, TransactionRuleBroken),
        ({"proofs": None}, TransactionRuleBroken),
        ({"cellProofs": CELLS.json()["proofs"]}, MalformedValue),
        ({"commitments": [*TWO.json()["commitments"], *TWO.json()["commitments"]]}, MalformedTransaction),
        ({"proofs": TWO.json()["proofs"] * 200}, MalformedTransaction),
        ({"proofs": TWO.json()["proofs"][::-1]}, InvalidSidecar),
        ({"commitments": TWO.json()["commitments"][::-1]}, InvalidSidecar),
    ],
    ids=[
        "no blobs", "no commitments", "no proofs", "both proofs", "commitments", "proofs",
        "wrong proofs", "wrong commitments",
    ],
)  # fmt: skip
def test_what_does_not_fit_is_rejected(
    changes: dict[str, Any], problem: type[EntresolError]
) -> None:
    with pytest.raises(problem):
        read_sidecar(transaction(**{**TWO.json(), **changes}), MAX_BLOBS)


def test_too_many_blobs_are_rejected_before_they_are_verified() -> None:
    with pytest.raises(TransactionRuleBroken, match="too many blobs"):
        read_sidecar(transaction(**TWO.json()), 1)
