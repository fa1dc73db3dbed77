"""What `eth_subscription` notifications carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from entresol.rpc.jsonrpc.model import Choice, HashText
from entresol.rpc.models.blocks import HeaderInfo
from entresol.rpc.models.logs import LogInfo
from entresol.rpc.models.transactions import TransactionInfo


class Notification(Choice):
    """What a subscriber is sent; the kind of the subscription chooses it."""

    shapes: ClassVar[Mapping[str, Any]] = {
        "`newHeads`": HeaderInfo,
        "`logs`": LogInfo,
        "`newPendingTransactions`": HashText,
        "`newPendingTransactions` in full": TransactionInfo,
        "`syncing`": bool,
    }


class SubscriptionId(str):
    """The id of a subscription, which every notification of it has."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, str]] = {
        "type": "string",
        "pattern": "^0x[1-9a-f][0-9a-f]{31}$",
    }
    notification: ClassVar[type[Choice]] = Notification

    @classmethod
    def parse(cls, value: object) -> SubscriptionId:
        """Take the text."""
        return cls(value)
