"""Blob transactions on `entresol anvil` beside a real anvil: the same requests, the same objects, the same rejections.

Differences, each with its reason:
- In anvil 1.7.1 the excess blob gas stays 0 whatever blocks contain; here it follows EIP-4844 and EIP-7918. So both
  agree as long as blocks have no more blobs than the target.
- Anvil shows blobs in transaction objects and raw transactions, and its transactions roots cover them; here they are as blocks contain them, as in
  geth, because 128 KiB a blob are not for every reader of a block.
- The names of blocks of the beacon API (`head`, `genesis`, `justified`) are accepted, too; anvil takes those of JSON-RPC.
- Genesis headers of anvil have blob fields on every fork; here they have them from Cancun on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from tests.support.anvil import Anvil, running_anvil
from tests.support.blobs import BLOB_GAS, Form, SampleSidecar, blob_transaction, sample_sidecar
from tests.support.inprocess_node import inprocess_anvil
from tests.support.polling import eventually
from tests.support.rpc_client import RpcError
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.peer

ACCOUNTS = derive(DEVELOPMENT_MNEMONIC, 4)
SECRET = ACCOUNTS[0].secret
SENDER = str(ACCOUNTS[0].address)
RECIPIENT = "0x" + "11" * 20
FORK_FIELDS = (
    "withdrawals", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot",
    "requestsHash",
)  # fmt: skip
BLOBS_IN_OBJECTS = {"blobs", "commitments", "proofs", "cellProofs"}


class Peers(NamedTuple):
    """Both nodes."""

    ours: Anvil
    anvil: Anvil


def started(stack: ExitStack, *flags: str) -> Peers:
    flags = ("--no-request-size-limit", *flags)
    ours = stack.enter_context(inprocess_anvil("anvil", *flags))
    return Peers(ours, stack.enter_context(running_anvil(*flags)))


# Both nodes read the trusted setup of each fork, which takes longer than all else.
FORKS = ("cancun", "prague", "osaka") if tries_many() else ("osaka",)


@pytest.fixture(scope="module", params=FORKS)
def running(request: pytest.FixtureRequest) -> Iterator[Peers]:
    with ExitStack() as stack:
        yield started(stack, "--hardfork", request.param)


@pytest.fixture
def peers(running: Peers) -> Iterator[Peers]:
    snapshots = [peer("evm_snapshot") for peer in running]
    for peer in running:
        # A revert of anvil's leaves the base fee as it was.
        peer("anvil_setNextBlockBaseFeePerGas", 10**9)
    yield running
    for peer, snapshot in zip(running, snapshots, strict=True):
        peer("evm_revert", snapshot)


def send(peers: Peers, raw: bytes) -> str:
    ours, theirs = (peer("eth_sendRawTransaction", "0x" + raw.hex()) for peer in peers)
    assert ours == theirs
    return str(ours)


def rejections(peers: Peers, method: str, *params: object) -> list[str]:
    texts = []
    for peer in peers:
        with pytest.raises(RpcError) as caught:
            peer(method, *params)
        texts.append(str(caught.value))
    return texts


def alike(peers: Peers, method: str, *params: object, but: frozenset[str] = frozenset()) -> Any:
    """Return what both nodes answer: the same, except for some members."""
    ours, theirs = (peer(method, *params) for peer in peers)
    if not isinstance(theirs, dict):
        assert ours == theirs
        return ours
    shared = theirs.keys() - but
    assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}
    return ours


@pytest.mark.parametrize("form", ["blob proofs", "cell proofs"])
def test_a_blob_transaction_has_the_same_objects(peers: Peers, form: Form) -> None:
    sidecar = sample_sidecar(1, 2, form=form)
    sent = send(peers, blob_transaction(SECRET, sidecar))
    receipt = alike(
        peers,
        "eth_getTransactionReceipt",
        sent,
        but=frozenset({"blockHash", "blockTimestamp"}),
    )
    assert receipt["status"] == "0x1"
    assert receipt["blobGasUsed"] == hex(2 * BLOB_GAS)
    assert receipt["blobGasPrice"] == "0x1"
    shown = alike(
        peers,
        "eth_getTransactionByHash",
        sent,
        but=frozenset({"blockHash", "blockTimestamp", *BLOBS_IN_OBJECTS}),
    )
    assert shown["blobVersionedHashes"] == ["0x" + name.hex() for name in sidecar.hashes]
    assert not BLOBS_IN_OBJECTS & shown.keys()
    assert alike(peers, "anvil_getBlobsByTransactionHash", sent) == sidecar.json()["blobs"]
    for name, blob in zip(sidecar.hashes, sidecar.json()["blobs"], strict=True):
        assert alike(peers, "anvil_getBlobByHash", "0x" + name.hex()) == blob
    assert alike(peers, "eth_getBalance", SENDER, "latest")


def test_headers_have_the_fields_of_the_fork(peers: Peers) -> None:
    send(peers, blob_transaction(SECRET, sample_sidecar(1, 2, 3)))
    ours, theirs = (peer("eth_getBlockByNumber", "latest", False) for peer in peers)
    for field in FORK_FIELDS:
        assert ours.get(field, "absent") == theirs.get(field, "absent"), field
    for field in ("receiptsRoot", "gasUsed"):
        assert ours[field] == theirs[field], field


@pytest.mark.parametrize("fork", ["london", "paris", "shanghai"])
def test_older_forks_have_no_blobs(fork: str) -> None:
    with ExitStack() as stack:
        peers = started(stack, "--hardfork", fork)
        for peer in peers:
            peer("evm_mine")
        ours, theirs = (peer("eth_getBlockByNumber", "latest", False) for peer in peers)
        assert {key: ours.get(key) for key in FORK_FIELDS} == {
            key: theirs.get(key) for key in FORK_FIELDS
        }
        raw = blob_transaction(SECRET, sample_sidecar(1))
        texts = rejections(peers, "eth_sendRawTransaction", "0x" + raw.hex())
        assert "transaction type not supported: 0x3" in texts[0]
        assert alike(peers, "eth_blobBaseFee") == "0x0"


BLOB_FIELDS = {
    "from": SENDER,
    "to": RECIPIENT,
    "gas": "0x5208",
    "maxFeePerGas": "0x2540be400",
    "maxPriorityFeePerGas": "0x1",
}


@pytest.mark.parametrize("form", ["blob proofs", "cell proofs"])
def test_the_node_signs_and_sends_blobs(peers: Peers, form: Form) -> None:
    sidecar = sample_sidecar(4, form=form)
    fields: dict[str, Any] = {**BLOB_FIELDS, **sidecar.json()}
    if form == "cell proofs":
        fields["cellProofs"] = fields.pop("proofs")
    signed = alike(peers, "eth_signTransaction", {**fields, "nonce": "0x0"})
    filled = alike(peers, "eth_fillTransaction", fields, but=frozenset({"tx"}))
    assert filled["tx"]["maxFeePerBlobGas"] == "0x1"
    assert filled["tx"]["blobVersionedHashes"] == ["0x" + sidecar.hashes[0].hex()]
    sent = alike(peers, "eth_sendTransaction", fields)
    assert alike(peers, "anvil_getBlobsByTransactionHash", sent) == sidecar.json()["blobs"]
    again = rejections(peers, "eth_sendRawTransaction", signed)
    assert "nonce too low" in again[0]


def _other_proof() -> bytes:
    return blob_transaction(SECRET, sample_sidecar(1)._replace(proofs=sample_sidecar(2).proofs))


def _two_commitments() -> bytes:
    sidecar = sample_sidecar(1)
    return blob_transaction(SECRET, sidecar._replace(commitments=sidecar.commitments * 2))


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "bare": (
        lambda: blob_transaction(SECRET, None, hashes=sample_sidecar(1).hashes),
        "missing sidecar",
    ),
    "no blobs": (
        lambda: blob_transaction(SECRET, SampleSidecar((), (), ())),
        "missing blob hashes",
    ),
    "other proof": (_other_proof, "invalid KZG proof"),
    "other hash": (
        lambda: blob_transaction(SECRET, sample_sidecar(1), hashes=sample_sidecar(2).hashes),
        "wrong versioned hash",
    ),
    "two commitments": (_two_commitments, "blobs and 2 commitments"),
    "no price": (
        lambda: blob_transaction(SECRET, sample_sidecar(1), blob_fee=0),
        "max fee per blob gas less than",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_sidecars_are_rejected(peers: Peers, name: str) -> None:
    make, text = WRONG[name]
    assert text in rejections(peers, "eth_sendRawTransaction", "0x" + make().hex())[0]


def test_a_transaction_has_as_many_blobs_as_the_fork_allows(peers: Peers) -> None:
    allowed = []
    for count in (6, 7, 9, 10):
        nonce = int(alike(peers, "eth_getTransactionCount", SENDER, "latest"), 16)
        raw = blob_transaction(SECRET, sample_sidecar(*range(count)), nonce=nonce)
        answers = [
            peer.batch([("eth_sendRawTransaction", ("0x" + raw.hex(),))])[0] for peer in peers
        ]
        answers = [None if isinstance(answer, RpcError) else answer for answer in answers]
        assert answers[0] == answers[1]
        allowed.append(answers[0] is not None)
        for peer in peers:
            eventually(partial(_is_settled, peer))
    assert allowed in ([True, False, False, False], [True, True, True, False])


def _is_settled(peer: Anvil) -> bool:
    return bool(peer("txpool_status")["pending"] == "0x0")


def page(peer: Anvil, path: str) -> tuple[int, Any]:
    """Return the status and the document of a page of the beacon API."""
    try:
        with urlopen(f"{peer.url}/eth/v1/beacon/{path}") as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_readers_of_blobs_find_them_by_block(peers: Peers) -> None:
    sidecar = sample_sidecar(1, 2)
    sent = send(peers, blob_transaction(SECRET, sidecar))
    number = int(peers.ours("eth_getTransactionReceipt", sent)["blockNumber"], 16)
    block_hash = [peer("eth_getBlockByNumber", "latest", False)["hash"] for peer in peers]
    wanted = "0x" + sidecar.hashes[1].hex()
    for path in (
        *(str(number), hex(number), "latest", "0", "earliest", "99", "abc"),
        f"{number}?versioned_hashes={wanted}",
        f"{number}?versioned_hashes={'0x' + '01' * 32}",
    ):
        ours, theirs = (page(peer, f"blobs/{path}") for peer in peers)
        assert ours == theirs, path
    by_hash = [page(peer, f"blobs/{it}") for peer, it in zip(peers, block_hash, strict=True)]
    assert by_hash[0] == by_hash[1]
    assert by_hash[0][1]["data"] == ["0x" + blob.hex() for blob in sidecar.blobs]
    assert page(peers.ours, "blobs/head") == by_hash[0]
    ours, theirs = (page(peer, "blob_sidecars/head") for peer in peers)
    assert ours == theirs
    assert ours[0] == 410
