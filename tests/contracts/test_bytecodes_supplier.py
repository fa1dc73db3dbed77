"""Bytecode that is published on L1, as tools for upgrades of the ZK Stack do it."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.primitives.bytecode import eravm_hash
from tests.support.contracts.engine import Contract, Engine, Reverted
from tests.support.contracts.l1_contracts import ALICE, BOB, DEPLOYER, deploy

ERA = b"\x01" * 32
OTHER_ERA = b"\x02" * 96
EVM = bytes.fromhex("6080604052")


@pytest.fixture
def engine() -> Engine:
    return deploy().engine


@pytest.fixture
def supplier(engine: Engine) -> Contract:
    return engine.deploy("BytecodesSupplier", sender=DEPLOYER)


def published(engine: Engine, supplier: Contract) -> list[tuple[str, dict[str, object]]]:
    """Return the events of the last transaction."""
    return [(event.name, event.fields) for event in engine.events(supplier)]


@pytest.mark.parametrize("function", ["publishBytecode", "publishEraBytecode"])
def test_anybody_publishes_bytecode(engine: Engine, supplier: Contract, function: str) -> None:
    engine.send(BOB, supplier, function, ERA)
    name = eravm_hash(ERA)
    fields = {"bytecodeHash": name, "bytecode": ERA}
    assert published(engine, supplier) == [("BytecodePublished", fields)]
    assert engine.read(supplier, "publishingBlock", name) == 1


@pytest.mark.parametrize("function", ["publishBytecodes", "publishEraBytecodes"])
def test_several_are_published_at_once(engine: Engine, supplier: Contract, function: str) -> None:
    engine.send(ALICE, supplier, function, [ERA, OTHER_ERA])
    names = [fields["bytecodeHash"] for _, fields in published(engine, supplier)]
    assert names == [eravm_hash(ERA), eravm_hash(OTHER_ERA)]


@pytest.mark.parametrize(
    ("function", "codes"), [("publishEVMBytecode", EVM), ("publishEVMBytecodes", [EVM])]
)
def test_evm_bytecode_has_its_keccak(
    engine: Engine, supplier: Contract, function: str, codes: object
) -> None:
    engine.send(ALICE, supplier, function, codes)
    name = keccak256(EVM)
    fields = {"bytecodeHash": name, "bytecode": EVM}
    assert published(engine, supplier) == [("EVMBytecodePublished", fields)]
    assert engine.read(supplier, "evmPublishingBlock", name) == 1
    assert engine.read(supplier, "publishingBlock", name) == 0


@pytest.mark.parametrize(
    ("function", "code", "error"),
    [
        ("publishBytecode", ERA, "BytecodeAlreadyPublished"),
        ("publishEVMBytecode", EVM, "EVMBytecodeAlreadyPublished"),
    ],
)
def test_nothing_is_published_twice(
    engine: Engine, supplier: Contract, function: str, code: bytes, error: str
) -> None:
    engine.send(ALICE, supplier, function, code)
    with pytest.raises(Reverted) as rejection:
        engine.send(BOB, supplier, function, code)
    assert rejection.value.error == error


@pytest.mark.parametrize(
    ("function", "code", "other"),
    [
        ("publishBytecode", ERA, OTHER_ERA),
        ("publishEraBytecode", ERA, OTHER_ERA),
        ("publishEVMBytecode", EVM, b""),
    ],
)
def test_a_list_with_one_that_is_published_publishes_none(
    engine: Engine, supplier: Contract, function: str, code: bytes, other: bytes
) -> None:
    with pytest.raises(Reverted, match="AlreadyPublished"):
        engine.send(ALICE, supplier, f"{function}s", [other, code, code])
    engine.send(BOB, supplier, function, code)
    with pytest.raises(Reverted, match="AlreadyPublished"):
        engine.send(ALICE, supplier, f"{function}s", [other, code])
    engine.send(ALICE, supplier, function, other)


@pytest.mark.parametrize(
    ("code", "error"), [(b"\x01", "LengthIsNotDivisibleBy32"), (bytes(64), "MalformedBytecode")]
)
def test_what_is_no_eravm_bytecode_is_rejected(
    engine: Engine, supplier: Contract, code: bytes, error: str
) -> None:
    with pytest.raises(Reverted) as rejection:
        engine.send(ALICE, supplier, "publishBytecode", code)
    assert rejection.value.error == error
