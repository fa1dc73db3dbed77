"""The descriptions of what a node takes and returns are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.model import JsonModel
from entresol.rpc.jsonrpc.openrpc import openrpc
from entresol.rpc.jsonrpc.served_method import methods_of
from tests.support.declared_results import check_response, declared_methods

ANYTHING = {
    "rpc.discover.methods[]": "the OpenRPC specification describes it, JSON schemas among it",
    "rpc.discover.components.*.*": "a JSON schema has any JSON value as a default",
}
"""Results that are any JSON value, and why."""

Json = Mapping[str, Any]


@pytest.fixture(scope="module")
def document() -> Json:
    """Return the description of all methods of both layers."""
    return openrpc(declared_methods())


def test_every_result_is_described_to_its_last_member(document: Json) -> None:
    loose = {
        path
        for method in document["methods"]
        for path in undescribed(document, method["result"]["schema"], method["name"], frozenset())
    }
    assert loose == set(ANYTHING)


def test_every_member_of_every_object_has_a_sentence(document: Json) -> None:
    silent = [
        f"{name}.{member}"
        for name, schema in document["components"]["schemas"].items()
        for member, described in schema.get("properties", {}).items()
        if not described.get("description", "").endswith(".")
    ]
    assert silent == [], "annotate them with `says`"


@pytest.mark.parametrize(
    ("name", "member", "is_always_there"),
    [
        ("L1BatchDetails", "commitTxHash", True),  # null before it
        ("CallManyResult", "error", False),
        ("ReceiptInfo", "blobGasUsed", False),
        ("CallObject", "gas", False),
    ],
)
def test_a_member_is_required_if_it_is_always_there(
    document: Json, name: str, member: str, *, is_always_there: bool
) -> None:
    assert (member in document["components"]["schemas"][name]["required"]) is is_always_there


_STEPS = ("commit", "prove", "execute", "precommit")
_SETTLED = {f"{step}{end}" for step in _STEPS for end in ("TxHash", "TxFinality", "ChainId")} | {
    "committedAt",
    "provenAt",
    "executedAt",
    "precommittedAt",
    "status",
}
_DETAILS = _SETTLED | {
    "number", "timestamp", "l1TxCount", "l2TxCount", "rootHash", "l1GasPrice", "l2FairGasPrice",
    "fairPubdataPrice", "baseSystemContractsHashes",
}  # fmt: skip
ERA = {
    "BlockDetails": _DETAILS | {"l1BatchNumber", "operatorAddress", "protocolVersion"},
    "L1BatchDetails": _DETAILS | {
        # The rest is this node's own.
        "commitment", "dataAvailability", "pubdataBytes", "commitGasUsed", "proveGasUsed", "executeGasUsed",
    },
    "TransactionDetails": {
        "isL1Originated", "status", "fee", "gasPerPubdata", "initiatorAddress", "receivedAt", "ethCommitTxHash",
        "ethProveTxHash", "ethExecuteTxHash", "ethPrecommitTxHash",
    },
    "L2ToL1LogProof": {"id", "proof", "root", "batchNumber"},
    "BatchStorageProof": {"key", "proof", "value", "index"},
    "BaseSystemContractsHashes": {"bootloader", "default_aa", "evm_emulator"},
    "Fee": {"gas_limit", "max_fee_per_gas", "max_priority_fee_per_gas", "gas_per_pubdata_limit"},
    "ConversionRatio": {"l1", "sl", "numerator", "denominator"},
}  # fmt: skip
"""The members of objects of zksync-era, which are all always there."""
SOMETIMES = {"L2ToL1LogProof": {"gatewayBlockNumber"}}
"""Members that some requests alone have."""


@pytest.mark.parametrize("name", ERA)
def test_objects_of_the_zk_stack_have_all_members_always(document: Json, name: str) -> None:
    schema = document["components"]["schemas"][name]
    assert set(schema["required"]) == ERA[name]
    assert set(schema["properties"]) == ERA[name] | SOMETIMES.get(name, set())


class Flags(JsonModel, frozen=True, kw_only=True):
    """Flags, of which one has a default that is written."""

    first: bool
    second: bool | None = None


class Flagged:
    prefix = "flagged"

    @method()
    def flags(self) -> Flags:
        """Return flags."""
        return Flags(first=True)


@pytest.mark.parametrize(
    "result", [{"first": True}, {"second": None}, {"first": True, "second": None, "third": 1}, None]
)
def test_a_response_with_too_many_or_too_few_members_is_not_what_was_declared(
    result: object,
) -> None:
    methods, request = methods_of([Flagged()]), {"id": 1, "method": "flagged_flags"}
    assert check_response(methods, request, {"result": {"first": True, "second": None}}) == [
        "flagged_flags"
    ]
    with pytest.raises(AssertionError, match="flagged_flags declares another result"):
        check_response(methods, request, {"result": result})


def undescribed(document: Json, schema: Json, path: str, within: frozenset[str]) -> Iterator[str]:
    """Yield the paths of what a schema does not describe: any value, objects and arrays of anything."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in within:
            target = document["components"]["schemas"][name]
            yield from undescribed(document, target, path, within | {name})
        return
    parts = [(path, part) for key in ("anyOf", "allOf") for part in schema.get(key, ())]
    parts += [(f"{path}.{name}", part) for name, part in schema.get("properties", {}).items()]
    parts += [(f"{path}[]", part) for part in schema.get("prefixItems", ())]
    if schema.get("items"):
        parts.append((f"{path}[]", schema["items"]))
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        parts.append((f"{path}.*", values))
    is_closed = values is False or schema.get("maxItems") == 0 or "enum" in schema
    if not parts and not is_closed and schema.get("type") in {None, "object", "array"}:
        yield path
    for where, part in parts:
        yield from undescribed(document, part, where, within)
