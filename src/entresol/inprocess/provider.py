"""`EntresolProvider` and `AsyncEntresolProvider`: web3.py providers in this process."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Unpack

from entresol.inprocess.async_layer_provider import AsyncLayerProvider
from entresol.inprocess.devnet import Devnet, devnet_config
from entresol.inprocess.layer_provider import LayerProvider

if TYPE_CHECKING:
    from entresol.inprocess.devnet_settings import DevnetSettings
    from entresol.inprocess.layer import DevnetLayer


class EntresolProvider(LayerProvider):
    """A provider for a layer of a devnet: `Web3(EntresolProvider(net.l1))`.

    Without a layer it starts a chain of its own, with the given settings: an L2 that settles nowhere, as eth-tester's
    provider starts a chain. It stops with `close`, or once nothing refers to the provider.
    """

    def __init__(
        self, layer: DevnetLayer | None = None, **settings: Unpack[DevnetSettings]
    ) -> None:
        self.close = weakref.finalize(self, _nothing)
        """Stop the chain, if it is the provider's own."""
        if layer is None:
            own = Devnet(devnet_config({"l1": False, **settings})).start()
            self.close.detach()
            self.close = weakref.finalize(self, own.stop)
            layer = own.layers[-1]
        elif settings:
            raise TypeError("settings are those of a chain of its own, not of a given layer")
        super().__init__(layer.channel, layer.records)


class AsyncEntresolProvider(AsyncLayerProvider):
    """A provider for a layer of a devnet: `AsyncWeb3(AsyncEntresolProvider(net.l2))`.

    Subscriptions need a connection: `async with AsyncWeb3(AsyncEntresolProvider(net.l2)) as w3`.
    """

    def __init__(self, layer: DevnetLayer) -> None:
        super().__init__(layer.channel, layer.records)


def _nothing() -> None:
    """Leave the devnet of a given layer alone."""
