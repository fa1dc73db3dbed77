"""Both readers of published data on the same bytes: they agree on a value, or that there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from entresol.errors import UnknownPublishedVersion, UnreadableData
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.published.body import PublishedBatch, PublishedBlock, decode_body
from entresol.primitives.published.compression import decompress
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.genesis import PublishedGenesis
from entresol.primitives.published.limits import MAX_GENESIS_BYTES, MAX_PUBLISHED_BYTES
from entresol.primitives.published.rules import BlockRules
from tests.support.published import second_decoder
from tests.support.published.second_cursor import RejectedError


class Readers(NamedTuple):
    """The node's reader, what its value is in plain words, and the second reader."""

    node: Callable[[bytes], Any]
    plain: Callable[[Any], Any]
    second: Callable[[bytes], Any]


def agreed(kind: str, data: bytes) -> Any:
    """Return the value that both readers give, or None if both reject; check that it is one of the two.

    Of bytes that break several rules either may be named, but another version at the beginning always is.
    """
    readers = READERS[kind]
    value: Any = None
    node_knows = second_knows = True
    try:
        value = readers.plain(readers.node(data))
    except UnreadableData as error:
        node_knows = not isinstance(error, UnknownPublishedVersion)
    second: Any = None
    try:
        second = readers.second(data)
    except RejectedError as error:
        second_knows = not error.unknown_version
    assert value == second
    if kind != "edits" and data[:1] not in (b"", b"\x01") and len(data) <= MAX_PUBLISHED_BYTES:
        assert (node_knows, second_knows) == (False, False)
    return value


def plain_rules(rules: BlockRules) -> dict[str, Any]:
    """Return rules in plain words."""
    numbers = (
        "chain_id", "fork", "code_size_limit", "gas_limit", "minimal_l2_gas_price", "compute_overhead_part",
        "pubdata_overhead_part", "batch_overhead_l1_gas", "max_gas_per_batch", "max_pubdata_per_batch",
    )  # fmt: skip
    return {
        "development": rules.is_development,
        "caps_transaction_gas": rules.caps_gas,
        "beneficiary": bytes(rules.beneficiary),
        **{name: getattr(rules, name) for name in numbers},
    }


def plain_edits(edits: PublishedEdits) -> dict[str, Any]:
    """Return edits in plain words."""
    accounts = []
    for change in edits.changes:
        account = change.account
        has_code = account is not None and account.code_hash != EMPTY_CODE_HASH
        accounts.append(
            {
                "address": bytes(change.address),
                "exists": account is not None,
                "nonce": 0 if account is None else account.nonce,
                "balance": 0 if account is None else int.from_bytes(account.balance),
                "cleared": change.destroyed,
                "code_hash": bytes(account.code_hash) if account is not None and has_code else None,
                "slots": [(slot, int.from_bytes(value)) for slot, value in change.slots],
            }
        )
    return {"accounts": accounts, "codes": [*edits.codes]}


def plain_body(batch: PublishedBatch) -> dict[str, Any]:
    """Return a batch in plain words."""
    return {
        "batch": batch.header.number,
        "first_block": batch.header.first_block,
        "parent_hash": bytes(batch.header.parent_hash),
        "rules_hash": bytes(batch.header.rules_hash),
        "blocks": [_plain_block(block) for block in batch.blocks],
        "last_hash": bytes(batch.last_hash),
    }


def plain_genesis(genesis: PublishedGenesis) -> dict[str, Any]:
    """Return a genesis in plain words."""
    numbers = ("number", "timestamp", "gas_limit", "base_fee", "difficulty")
    strings = ("beneficiary", "extra_data", "mix_hash", "nonce")
    return {
        "rules": plain_rules(genesis.rules),
        **{name: getattr(genesis, name) for name in numbers},
        **{name: bytes(getattr(genesis, name)) for name in strings},
        "accounts": [
            {
                "address": bytes(account.address),
                "nonce": account.nonce,
                "balance": account.balance,
                "code": account.code,
                "slots": [(bytes(slot), int.from_bytes(value)) for slot, value in account.slots],
            }
            for account in genesis.accounts
        ],
    }


def _plain_block(block: PublishedBlock) -> dict[str, Any]:
    found: dict[str, Any] = {"step": block.timestamp_step}
    settings = {
        name: value if isinstance(value, int) else bytes(value)
        for name in ("gas_limit", "beneficiary", "base_fee", "prevrandao")
        if (value := getattr(block, name)) is not None
    }
    if block.rules is not None:
        found["rules"] = plain_rules(block.rules)
    if settings:
        found["settings"] = settings
    if block.prices is not None:
        ether = block.prices.ether
        found["prices"] = (block.prices.l1_gas_price, ether.nominator, ether.denominator)
    if isinstance(block.edits, PublishedEdits):
        found["edits"] = plain_edits(block.edits)
    if isinstance(block.edits, EditsByHash):
        found["edits_by_hash"] = (bytes(block.edits.hash), block.edits.size)
    if block.roots:
        found["roots"] = [
            (root.chain_id, root.block_number, root.timestamp, bytes(root.root))
            for root in block.roots
        ]
    if block.deposits:
        found["deposits"] = block.deposits
    if block.transactions:
        found["transactions"] = [*block.transactions]
    return found


def _unchanged(data: bytes) -> bytes:
    return data


READERS: Final = {
    "rules": Readers(BlockRules.decode, plain_rules, second_decoder.read_rules),
    "edits": Readers(PublishedEdits.decode, plain_edits, second_decoder.read_edits),
    "body": Readers(decode_body, plain_body, second_decoder.read_body),
    "genesis": Readers(PublishedGenesis.decode, plain_genesis, second_decoder.read_genesis),
    "published": Readers(
        decompress,
        _unchanged,
        lambda data: second_decoder.unpack(data, second_decoder.LARGEST_BATCH_DATA),
    ),
    "published genesis": Readers(
        lambda data: decompress(data, max_bytes=MAX_GENESIS_BYTES),
        _unchanged,
        lambda data: second_decoder.unpack(data, second_decoder.LARGEST_GENESIS_DATA),
    ),
}
