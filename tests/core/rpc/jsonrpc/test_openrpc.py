"""The description of the methods."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs.tools.rpc_markdown import rpc_markdown
from entresol.offload import Offload
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.openrpc import Discovery, openrpc
from entresol.rpc.jsonrpc.served_method import methods_of
from tests.support.clients.javascript import node_program
from tests.support.example_namespace import Toy, caller, request

META_SCHEMA = Path(__file__).parents[3] / "node_modules" / "@open-rpc" / "meta-schema"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return Dispatcher([Toy()]).openrpc()


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in document["methods"] if m["name"] == name)
    return found


def references(value: object) -> Iterator[str]:
    """Yield every reference in a JSON value."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_method_is_described(document: dict[str, Any]) -> None:
    names = [method["name"] for method in document["methods"]]
    assert names == sorted(Dispatcher([Toy()]).methods)
    assert "rpc.discover" in names
    assert all(method["summary"] for method in document["methods"])


def test_the_description_is_served(document: dict[str, Any]) -> None:
    assert caller()(request("rpc.discover"))["result"] == json.loads(json.dumps(document))


def test_the_document_is_made_on_a_thread_and_then_cached() -> None:
    discovery = Discovery()
    first = discovery.discover()
    assert isinstance(first, Offload)
    assert first.work() is discovery.discover()


def test_an_entry_follows_from_the_signature(document: dict[str, Any]) -> None:
    found = entry(document, "toy_getBalance")
    address, block = found["params"]
    assert (address["name"], address["required"]) == ("address", True)
    assert address["schema"]["pattern"] == "^0x[0-9a-fA-F]{40}$"
    assert (block["name"], block["required"]) == ("block", False)
    assert block["schema"]["default"] == "latest"
    assert found["result"]["schema"] == {"type": "string"}
    assert found["description"] == "A second paragraph."
    assert [error["code"] for error in found["errors"]] == [-32602, -32000]


def test_a_connection_is_no_parameter(document: dict[str, Any]) -> None:
    assert [p["name"] for p in entry(document, "toy_who")["params"]] == ["word", "more"]


def test_raw_results_are_described_by_their_model(document: dict[str, Any]) -> None:
    schema = entry(document, "toy_cached")["result"]["schema"]
    assert {"$ref": "#/components/schemas/ToyBlock"} in schema["anyOf"]
    assert entry(document, "toy_maybeLater")["result"]["schema"] == {"type": "boolean"}


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert found
    for reference in found:
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]


@pytest.mark.skipif(
    not META_SCHEMA.exists() and os.environ.get("CI") != "true",
    reason="needs @open-rpc/meta-schema, which `make install` gets",
)
def test_the_document_satisfies_the_meta_schema(document: dict[str, Any]) -> None:
    # By name, since it comes without types.
    jsonschema = import_module("jsonschema")
    script = (
        f"process.stdout.write(JSON.stringify(require({json.dumps(str(META_SCHEMA))}).default))"
    )
    text = subprocess.run(
        [node_program(), "-e", script], capture_output=True, check=True
    ).stdout.decode()
    # It refers to a page for what a JSON schema is; the drafts that come with the validator say the same.
    local = text.replace(
        "https://meta.json-schema.tools", "http://json-schema.org/draft-07/schema#"
    )
    validator = jsonschema.Draft7Validator(json.loads(local))
    assert [
        error.message for error in validator.iter_errors(json.loads(json.dumps(document)))
    ] == []


def test_the_page_describes_every_method(document: dict[str, Any]) -> None:
    page = rpc_markdown(document)
    for described in document["methods"]:
        assert f"### {described['name']}\n\n{described['summary']}\n" in page
    assert "| `address` | `Address` | required |" in page
    assert "| `block` | `BlockId` | `latest` |" in page
    assert "| `full` | boolean | `false` |" in page
    assert "- Error -32602: Block with such an ID doesn't exist yet." in page
    assert "Result: [`ToyBlock`](#toyblock) or null" in page
    assert "### ToyBlock\n" in page


class Holder(msgspec.Struct):
    held: list[dict[str, bytes]]
    again: Holder | None = None


class Results:
    prefix = "bad"

    @method()
    def result(self) -> Holder:
        """Return bytes somewhere inside."""
        return Holder([])


class Parameters:
    prefix = "bad"

    @method()
    def parameter(self, data: bytes | None = None) -> None:
        """Take bytes."""


@pytest.mark.parametrize("namespace", [Results(), Parameters()])
def test_plain_bytes_are_rejected(namespace: Results | Parameters) -> None:
    with pytest.raises(TypeError, match="has bytes in its signature"):
        openrpc(methods_of([namespace]))
