"""Fixtures of a remote chain: another Entresol, behind a proxy that a test breaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.features.fork.remote_chain import RemoteChain
from tests.support.chain.api_client import ApiClient
from tests.support.fork.remote_node import RemoteNode, remote_node, served_chain


@pytest.fixture(scope="module")
def chain_api() -> Iterator[ApiClient]:
    """Return the API of a chain with some blocks, which no test changes."""
    with served_chain() as api:
        yield api


@pytest.fixture
def node(chain_api: ApiClient) -> Iterator[RemoteNode]:
    with remote_node(chain_api) as served:
        yield served


@pytest.fixture
def remote(node: RemoteNode) -> Iterator[RemoteChain]:
    with node.fork() as opened:
        yield opened
