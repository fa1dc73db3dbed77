"""Transaction objects of every type, and that their signatures are the senders'."""

from __future__ import annotations

from typing import Any

import pytest
import rlp
from eth_account import Account
from eth_keys.datatypes import Signature

from entresol.primitives.transactions import sign
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import LOGGER, NOBODY, transaction
from tests.support.chain.sample_chain import (
    CHAIN_ID,
    FEE,
    SECRETS,
    SENDERS,
    SLOT,
    TIP,
    SampleChain,
    authorization,
    deposit,
    parsed,
    payloads,
)

COMMON = {
    "hash",
    "type",
    "nonce",
    "blockHash",
    "blockNumber",
    "transactionIndex",
    "blockTimestamp",
    "from",
    "to",
    "value",
    "gas",
    "gasPrice",
    "input",
    "chainId",
    "v",
    "r",
    "s",
    "l1BatchNumber",
    "l1BatchTxIndex",
}
CAPS = {"maxFeePerGas", "maxPriorityFeePerGas"}
KEYS = {
    "legacy": COMMON,
    "unprotected": COMMON,
    "access_list": COMMON | {"accessList", "yParity"},
    "fee_market": COMMON | CAPS | {"accessList", "yParity"},
    "set_code": COMMON | CAPS | {"accessList", "yParity", "authorizationList"},
    "deployment": COMMON | CAPS | {"yParity"},
    "deposit": COMMON | CAPS | {"yParity"},
}
SIGNED = list(payloads())


@pytest.mark.parametrize("name", KEYS)
def test_every_field_is_there(sample: SampleChain, name: str) -> None:
    assert set(sample.transaction(name)) == KEYS[name]


@pytest.mark.parametrize("name", SIGNED)
def test_what_was_sent_is_what_is_shown(sample: SampleChain, name: str) -> None:
    shown, payload = sample.transaction(name), payloads()[name]
    assert shown["hash"] == str(sample.hashes[name])
    assert shown["type"] == hex(payload.type)
    assert shown["from"] == str(SENDERS[SIGNED.index(name)])
    assert shown["to"] == (None if payload.to is None else str(payload.to))
    assert shown["nonce"] == hex(payload.nonce)
    assert shown["value"] == hex(payload.value)
    assert shown["gas"] == hex(payload.gas_limit)
    assert shown["input"] == "0x" + payload.data.hex()


@pytest.mark.parametrize("name", SIGNED)
def test_its_location_is_that_of_the_block(sample: SampleChain, name: str) -> None:
    shown, block = sample.transaction(name), sample.block()
    assert (shown["blockHash"], shown["blockNumber"]) == (block["hash"], "0x2")
    assert shown["transactionIndex"] == hex(sample.index(name))
    assert shown["blockTimestamp"] == block["timestamp"]
    assert shown["l1BatchNumber"] is shown["l1BatchTxIndex"] is None


@pytest.mark.parametrize("name", SIGNED)
def test_the_gas_price_is_what_it_paid(sample: SampleChain, name: str) -> None:
    shown, base_fee = sample.transaction(name), int(sample.block()["baseFeePerGas"], 16)
    prices = {0: FEE, 1: FEE, 0x71: base_fee}
    price = prices.get(int(shown["type"], 16), base_fee + TIP)
    assert shown["gasPrice"] == hex(price)
    if "maxFeePerGas" in shown:
        assert (shown["maxFeePerGas"], shown["maxPriorityFeePerGas"]) == (hex(FEE), hex(TIP))


@pytest.mark.parametrize("name", ["legacy", "unprotected", "access_list", "fee_market", "set_code"])
def test_another_library_recovers_the_sender_from_the_object(
    sample: SampleChain, name: str
) -> None:
    """The raw transaction is built anew out of nothing but the object, and read by eth_account."""
    shown = sample.transaction(name)
    raw = _raw_of(shown)
    assert raw == sample.sent[name].raw
    assert Account.recover_transaction(raw).lower() == shown["from"]


def test_a_zk_signature_is_the_senders(sample: SampleChain) -> None:
    shown, payload = sample.transaction("deployment"), payloads()["deployment"]
    assert shown["yParity"] == shown["v"]
    assert shown["v"] in ("0x0", "0x1")
    vrs = (int(shown["v"], 16), int(shown["r"], 16), int(shown["s"], 16))
    key = Signature(vrs=vrs).recover_public_key_from_msg_hash(payload.signing_hash())
    assert key.to_address() == shown["from"]


def test_legacy_signatures_have_the_chain_id_in_v_and_no_parity(sample: SampleChain) -> None:
    legacy, unprotected = sample.transaction("legacy"), sample.transaction("unprotected")
    assert int(legacy["v"], 16) in (35 + 2 * CHAIN_ID, 36 + 2 * CHAIN_ID)
    assert legacy["chainId"] == hex(CHAIN_ID)
    assert int(unprotected["v"], 16) in (27, 28)
    assert unprotected["chainId"] is None


def test_lists_are_shown(sample: SampleChain) -> None:
    expected = [
        {"address": str(LOGGER), "storageKeys": [str(SLOT)]},
        {"address": str(NOBODY), "storageKeys": []},
    ]
    assert sample.transaction("access_list")["accessList"] == expected
    assert sample.transaction("failure")["accessList"] == expected
    signed = authorization()
    assert sample.transaction("set_code")["authorizationList"] == [
        {
            "chainId": hex(CHAIN_ID),
            "address": str(LOGGER),
            "nonce": "0x0",
            "yParity": hex(signed.y_parity),
            "r": hex(signed.r),
            "s": hex(signed.s),
        }
    ]


def test_a_deposit_has_a_signature_of_zeros(sample: SampleChain) -> None:
    shown, payload = sample.transaction("deposit"), deposit()
    assert shown["type"] == "0xff"
    assert (shown["v"], shown["r"], shown["s"], shown["yParity"]) == ("0x0",) * 4
    assert (shown["nonce"], shown["chainId"]) == ("0x0", hex(CHAIN_ID))
    assert (shown["from"], shown["to"]) == (str(payload.sender), str(payload.to))
    assert shown["gasPrice"] == shown["maxFeePerGas"] == hex(FEE)
    assert (shown["maxPriorityFeePerGas"], shown["transactionIndex"]) == ("0x0", "0x0")
    assert shown["value"] == "0x9"


def test_a_pending_one_has_no_location_and_its_fee_cap_as_price(own_sample: SampleChain) -> None:
    sent = InlineSequencer(own_sample.chain).submit(transaction(1, tip=TIP).raw)
    shown = parsed(own_sample.rendered.transaction(sent))
    assert set(shown) == KEYS["fee_market"]
    for key in ("blockHash", "blockNumber", "transactionIndex", "blockTimestamp"):
        assert shown[key] is None
    assert shown["gasPrice"] == shown["maxFeePerGas"] == hex(100_000_000 + TIP)
    own_sample.chain.builder.seal()
    assert parsed(own_sample.rendered.transaction(sent))["blockNumber"] == "0x3"


@pytest.mark.parametrize("name", ["legacy", "set_code", "deposit"])
def test_it_is_found_by_its_location_too(sample: SampleChain, name: str) -> None:
    at = sample.rendered.transaction_at(2, sample.index(name))
    assert parsed(at) == sample.transaction(name)


def test_what_is_not_there_is_none(sample: SampleChain) -> None:
    assert sample.rendered.transaction(bytes(32)) is None
    assert sample.rendered.receipt(bytes(32)) is None
    assert sample.rendered.raw_transaction(bytes(32)) is None
    for place in ((2, len(sample.hashes)), (2, -1), (3, 0)):
        assert sample.rendered.transaction_at(*place) is None
        assert sample.rendered.raw_transaction_at(*place) is None


@pytest.mark.parametrize("name", SIGNED)
def test_raw_transactions_are_the_bytes_that_were_sent(sample: SampleChain, name: str) -> None:
    expected = "0x" + sign(payloads()[name], SECRETS[SIGNED.index(name)]).raw.hex()
    assert parsed(sample.rendered.raw_transaction(sample.hashes[name])) == expected
    assert parsed(sample.rendered.raw_transaction_at(2, sample.index(name))) == expected


def test_the_bytes_of_a_pending_one(own_sample: SampleChain) -> None:
    waiting = transaction(1)
    InlineSequencer(own_sample.chain).submit(waiting.raw)
    assert parsed(own_sample.rendered.raw_transaction(waiting.hash)) == "0x" + waiting.raw.hex()


def _raw_of(shown: dict[str, Any]) -> bytes:
    kind = int(shown["type"], 16)
    prices = ["gasPrice"] if kind < 2 else ["maxPriorityFeePerGas", "maxFeePerGas"]
    items = [*_numbers(shown, "nonce", *prices, "gas"), _bytes(shown["to"])]
    items += [*_numbers(shown, "value"), _bytes(shown["input"])]
    if kind == 0:
        return bytes(rlp.encode([*items, *_numbers(shown, "v", "r", "s")]))
    items = [*_numbers(shown, "chainId"), *items]
    items.append(
        [[_bytes(a["address"]), [_bytes(k) for k in a["storageKeys"]]] for a in shown["accessList"]]
    )
    if kind == 4:
        items.append([_authorization(it) for it in shown["authorizationList"]])
    return bytes([kind]) + bytes(rlp.encode([*items, *_numbers(shown, "yParity", "r", "s")]))


def _authorization(shown: dict[str, str]) -> list[Any]:
    signature = _numbers(shown, "nonce", "yParity", "r", "s")
    return [*_numbers(shown, "chainId"), _bytes(shown["address"]), *signature]


def _numbers(shown: dict[str, Any], *names: str) -> list[Any]:
    return [rlp.sedes.big_endian_int.serialize(int(shown[name], 16)) for name in names]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
