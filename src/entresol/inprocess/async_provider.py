"""`AsyncEntresolProvider`: an asynchronous web3.py provider in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.inprocess.async_layer_provider import AsyncLayerProvider

if TYPE_CHECKING:
    from entresol.inprocess.layer import DevnetLayer


class AsyncEntresolProvider(AsyncLayerProvider):
    """A provider for a layer of a devnet: `AsyncWeb3(AsyncEntresolProvider(net.l2))`.

    Subscriptions need a connection: `async with AsyncWeb3(AsyncEntresolProvider(net.l2)) as w3`.
    """

    def __init__(self, layer: DevnetLayer) -> None:
        super().__init__(layer.channel, layer.records)
