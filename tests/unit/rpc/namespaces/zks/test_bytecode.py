"""Published bytecode over JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.dev.reverts import Reverts
from entresol.primitives.bytecode import evm_hash, pad_evm
from entresol.rpc.namespaces.zks.bytecode import ZksBytecode
from tests.support.chain.dev_chain import LOG_CODE, NOBODY, open_chain
from tests.support.rpc_client import NamespaceClient, RpcError


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = open_chain()
    yield chain
    chain.close()


@pytest.fixture
def zks(chain: Chain) -> Iterator[NamespaceClient]:
    client = NamespaceClient(ZksBytecode(chain.bytecodes, lambda: chain.ledger.head_hash))
    yield client
    client.close()


@pytest.mark.parametrize(
    ("name", "code"), [(keccak256(LOG_CODE), LOG_CODE), (evm_hash(LOG_CODE), pad_evm(LOG_CODE))]
)
def test_deployed_code_is_an_array_of_numbers(
    zks: NamespaceClient, name: bytes, code: bytes
) -> None:
    assert zks("zks_getBytecodeByHash", "0x" + name.hex()) == list(code)


def test_code_of_a_reverted_block_is_null_again(chain: Chain, zks: NamespaceClient) -> None:
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    code = b"\x5b" * 100
    name = "0x" + keccak256(code).hex()
    chain.edit(NOBODY, lambda overlay: overlay.set_code(NOBODY, code))
    chain.builder.seal()
    assert [zks("zks_getBytecodeByHash", name) for _ in range(2)] == [list(code)] * 2
    reverts.restore(checkpoint)
    assert zks("zks_getBytecodeByHash", name) is None


def test_unknown_code_is_null(zks: NamespaceClient) -> None:
    assert zks("zks_getBytecodeByHash", "0x" + "12" * 32) is None


@pytest.mark.parametrize("name", ["0x12", 5, None, "0x" + "zz" * 32])
def test_what_is_no_hash_is_rejected_by_name(zks: NamespaceClient, name: object) -> None:
    with pytest.raises(RpcError) as caught:
        zks("zks_getBytecodeByHash", name)
    assert caught.value.code == -32602
    assert caught.value.message.startswith("params[0]")
