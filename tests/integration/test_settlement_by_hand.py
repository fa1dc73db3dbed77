"""Both layers in the hands of developers, who revert them, move the time, settle by hand, and break settlement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from entresol.node.opening.development_keys import OPERATOR
from entresol.primitives import abi
from entresol.primitives.base_token import asset_id
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN, MULTICALL
from tests.support.contracts.engine import Contract, find
from tests.support.inprocess_node import inprocess_node
from tests.support.polling import eventually
from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rollup.node_crashes import operator_nonce
from tests.support.rollup.pair import (
    CHAIN_ID,
    ETHER,
    L1_CHAIN_ID,
    USER,
    Pair,
    message_hash,
    messages_in,
)
from tests.support.rpc_client import RpcError, get

QUICK = ("--l1-delay", "0.02", "--settle-interval", "0.02")


@contextmanager
def pair_of(path: Path, *arguments: str, agree: bool = True) -> Iterator[Pair]:
    """Start both layers, and see at the end that they agree and that the supply adds up."""
    info = path / "info.json"
    info.unlink(missing_ok=True)
    data = ("--data-dir", str(path / "data"), "--config-out", str(info), "--silent")
    with inprocess_node(*data, *arguments, info=info) as node:
        pair = Pair.connect(info)
        nonce = operator_nonce(pair)
        try:
            yield pair
        finally:
            pair.close()
        assert node.stop() == 0
    if agree:
        check_agreement(path / "data", nonce=nonce)


def metrics_of(pair: Pair) -> list[str]:
    return get(f"{pair.l2.url}/metrics").decode().splitlines()


def settlement_health(pair: Pair) -> str | None:
    health: str | None = json.loads(get(f"{pair.l2.url}/health"))["settlement"]
    return health


def batch_number(pair: Pair) -> int:
    return int(pair.l2("zks_L1BatchNumber"), 16)


def test_a_deposit_that_failed_is_owed_until_it_is_claimed_back(tmp_path: Path) -> None:
    with pair_of(tmp_path, *QUICK, agree=False) as pair:
        nonce, token = operator_nonce(pair), pair.create_token(1_000)
        code = pair.l2("eth_getCode", str(ASSET_ROUTER), "latest")
        pair.l2("anvil_setCode", str(ASSET_ROUTER), "0x5f5ffd")
        sent = pair.deposit_token(token, 400)
        failed = pair.arrived(sent)
        assert failed["status"] == "0x0"
        pair.l2("anvil_setCode", str(ASSET_ROUTER), code)
        pair.arrived(pair.deposit_token(token, 100))
        pair.settled()
    check_agreement(tmp_path / "data", [token], nonce=nonce)
    with pair_of(tmp_path, *QUICK, agree=False) as pair:
        recovery = recovery_of(pair, token, 400, failed["transactionHash"])
        assert pair.l1.receipt(recovery)["status"] == "0x1"
        assert pair.call_l1(Contract(token, find("TestERC20")), "balanceOf", USER) == 900
        with pytest.raises(RpcError, match="reverted"):
            recovery_of(pair, token, 400, failed["transactionHash"])
    check_agreement(tmp_path / "data", [token], nonce=nonce)


def recovery_of(pair: Pair, token: Address, amount: int, failed: str) -> str:
    """Claim a failed deposit back on L1."""
    proof, receipt = pair.proven(failed), pair.l2.receipt(failed)
    return pair.send_l1(
        pair.nullifier,
        "bridgeRecoverFailedTransfer",
        *(CHAIN_ID, USER, asset_id(L1_CHAIN_ID, token)),
        abi.encode("(uint256,address,address)", (amount, USER, token)),
        bytes.fromhex(failed[2:]),
        *(proof["batchNumber"], proof["id"], int(receipt["l1BatchTxIndex"], 16)),
        [bytes.fromhex(word[2:]) for word in proof["proof"]],
    )


def test_a_batch_is_settled_by_hand_step_by_step(tmp_path: Path) -> None:
    with pair_of(tmp_path, "--l1-delay", "0.02", "--no-settle") as pair:
        pair.arrived(pair.deposit(ETHER))
        sent = pair.send_message(b"by hand")
        assert batch_number(pair) == 0
        for unknown in (0, 7):
            with pytest.raises(RpcError, match=f"there is no batch {unknown} to settle"):
                pair.l2("anvil_zks_commitBatch", unknown)
        with pytest.raises(RpcError, match="execute of batch 1 failed"):
            pair.l2("anvil_zks_executeBatch", 1)
        totals = []
        for step in ("commit", "prove", "execute"):
            done = pair.l2(f"anvil_zks_{step}Batch", hex(1))
            assert pair.l1.receipt(done)["status"] == "0x1"
            assert pair.l2(f"anvil_zks_{step}Batch", 1) == done
            totals.append(pair.totals())
        assert totals == [(1, 0, 0), (1, 1, 0), (1, 1, 1)]
        assert pair.proven(sent)["batchNumber"] == 1


def test_a_step_that_reverts_stops_settlement_and_nothing_else(tmp_path: Path) -> None:
    with pair_of(tmp_path, *QUICK, agree=False) as pair:
        allow(pair, "remove")
        sent = [pair.send_message(b"not settled")]
        reason = eventually(lambda: settlement_health(pair))
        assert reason.startswith("commit of batch 1 failed: Unauthorized(")
        metrics = metrics_of(pair)
        assert "entresol_settlement_stopped 1" in metrics
        assert 'entresol_settlement_problem{part="settlement"} 1' in metrics
        assert "entresol_settlement_sealed_batch 1" in metrics
        assert "entresol_settlement_committed_batch 0" in metrics
        # The layer 2 goes on, deposits included.
        assert pair.arrived(pair.deposit(1))["status"] == "0x1"
        sent.append(pair.send_message(b"later"))
        assert all(pair.l2.receipt(transaction)["status"] == "0x1" for transaction in sent)
        assert pair.totals() == (0, 0, 0)
        allow(pair, "add")
        pair.l2("anvil_zks_commitBatch", 1)
        last = pair.settled()
        eventually(lambda: settlement_health(pair) is None)
        metrics = metrics_of(pair)
        for step in ("sealed", "committed", "proven", "executed"):
            assert f"entresol_settlement_{step}_batch {last}" in metrics
        assert "entresol_settlement_stopped 0" in metrics


def allow(pair: Pair, verb: str) -> None:
    """Let the operator settle, or do not."""
    pair.l1("anvil_impersonateAccount", str(OPERATOR.address))
    sender, named = OPERATOR.address, (pair.chain.address, OPERATOR.address)
    sent = pair.send_l1(pair.timelock, f"{verb}Validator", *named, sender=sender)
    assert pair.l1.receipt(sent)["status"] == "0x1"


def test_identical_messages_have_proofs_of_their_own(tmp_path: Path) -> None:
    message = b"the same again"
    with pair_of(tmp_path, "--l1-delay", "0.02", "--no-settle") as pair:
        sent = []
        for batch in (1, 2):
            # Batches that are alike in everything have the same proofs.
            pair.send_message(b"of batch %d" % batch)
            # Twice in a transaction, and again in another one of the same batch.
            sent += [send_often(pair, message, 2), send_often(pair, message, 1)]
            for step in ("commit", "prove", "execute"):
                pair.l2(f"anvil_zks_{step}Batch", batch)
        asked = [(sent[0], 0), (sent[0], 1), (sent[1], 0), (sent[2], 0), (sent[2], 1), (sent[3], 0)]
        places = []
        for transaction, index in asked:
            proof, receipt = pair.proven(transaction, index), pair.l2.receipt(transaction)
            position = [log["logIndex"] for log in messages_in(receipt)][index]
            block = int(receipt["blockNumber"], 16)
            by_message = pair.l2(
                "zks_getL2ToL1MsgProof",
                *(block, str(MULTICALL), message_hash(message), int(position, 16)),
            )
            assert by_message["id"] == proof["id"]
            places.append((proof["batchNumber"], proof["id"]))
            sender, other_batch = MULTICALL, proof | {"batchNumber": 3 - places[-1][0]}
            next_transaction = receipt | {
                "l1BatchTxIndex": hex(int(receipt["l1BatchTxIndex"], 16) + 1)
            }
            assert pair.is_included(proof, receipt, sender, message)
            assert not pair.is_included(proof, next_transaction, sender, message)
            assert not pair.is_included(proof, receipt, BASE_TOKEN, message)
            assert not pair.is_included(proof, receipt, sender, message + b"!")
            assert not pair.is_included(other_batch, receipt, sender, message)
        assert places == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def send_often(pair: Pair, message: bytes, times: int) -> str:
    """Send a message to L1 several times in one transaction."""
    call = (pair.messenger.address, pair.messenger.encode("sendToL1", message))
    return pair.send_l2(pair.multicall, "aggregate", [call] * times)
