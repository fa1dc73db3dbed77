"""False answers of an L1: one at a time, of any method, with truth in between."""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any, Final

import msgspec

from entresol.errors import LayerOneMismatch
from entresol.l1.contracts import NEW_PRIORITY_REQUEST, decode_deposit
from entresol.l1.layer_one import LayerOne
from entresol.l1.remote_layer_one import RemoteLayerOne, logs_decoder
from entresol.primitives.values import Address
from tests.robustness.wrong_values import any_wrong
from tests.support.chain.api_client import ApiClient
from tests.support.hex_data import hexed
from tests.support.rollup.layer_ones import URL, LyingClient, LyingRemote, call_name, request_data

WORD: Final = 64
LOGS: Final = "eth_getLogs"
REMEMBERED: Final = 8
ERRORS: Final = (
    {"code": -32000, "message": "missing trie node"},
    {"code": -32603, "message": "Internal error"},
    {"code": 3, "message": "execution reverted", "data": "0x"},
)


class OneFalseAnswer(LyingClient):
    """Gives one false answer, to the request that `falsify` names, and the truth before and after it.

    A false answer is another one that could be true: of an earlier request, with other numbers, with fewer or other logs
    whose hashes fit; or any wrong value of any field; or an error.
    """

    def __init__(self, api: ApiClient, choice: random.Random) -> None:
        super().__init__(api)
        self.choice = choice
        self._victim: str | None = None
        self.left: int | None = None
        """How many answers are true before the false one, of the same kind; None if none is to be."""
        self.told: str | None = None
        """The false answer, in words."""
        self.counted: Counter[str] = Counter()
        """How often each kind of request was answered falsely."""
        self._earlier: dict[str, list[Any]] = {}

    def falsify(self, left: int) -> None:
        """Answer falsely once, after so many true answers."""
        self.left, self.told, self._victim = left, None, None

    def falsify_any_kind(self, left: int) -> None:
        """Answer one kind of request falsely once, after so many true answers of that kind; all kinds have their turn."""
        self.falsify(left)
        rare = min((self.counted[it] for it in self._earlier), default=0)
        kinds = [it for it in self._earlier if self.counted[it] == rare]
        self._victim = self.choice.choice(kinds) if kinds else None

    def tell_truth(self) -> None:
        """Lie no more."""
        super().tell_truth()
        self.left = None

    async def exchange(self, body: bytes, max_bytes: int) -> tuple[int, bytes]:
        """Respond to a request, perhaps falsely."""
        status, response = await super().exchange(body, max_bytes)
        request, document = msgspec.json.decode(body), msgspec.json.decode(response)
        name, truth = _kind(request), document.get("result")
        earlier = self._earlier.setdefault(name, [])
        is_other = self._victim is not None and (name != self._victim or not truth)
        if is_other:
            pass
        elif self.left is not None and not self.left:
            self.left, self.told = None, f"{name} {request['params']}: {truth} became nothing else"
            false = self._false(truth, earlier)
            if false is not None and false != document:
                self.told = f"{name} {request['params']}: {document} became {false}"
                self.counted[name] += 1
                return 200, msgspec.json.encode(false)
        elif self.left is not None:
            self.left -= 1
        if truth is not None and truth not in earlier:
            self._earlier[name] = [*earlier[1 - REMEMBERED :], truth]
        return status, response

    def _false(self, truth: Any, earlier: list[Any]) -> dict[str, Any] | None:
        choice = self.choice
        kind = choice.choice(("plausible", "plausible", "plausible", "earlier", "any", "error"))
        if kind == "error":
            return {"error": choice.choice(ERRORS)}
        if kind == "earlier" and earlier:
            return {"result": choice.choice(earlier)}
        if kind == "any" or truth is None:
            return {"result": any_wrong(truth, choice).result}
        return {"result": self._plausible(truth)}

    def _plausible(self, truth: Any) -> Any:
        """Return a result of the same form that could be true."""
        choice = self.choice
        if isinstance(truth, list):
            return self._other_logs(truth)
        if isinstance(truth, dict):
            changed = copy.deepcopy(truth)
            name = choice.choice([key for key, value in truth.items() if isinstance(value, str)])
            changed[name] = self._plausible(truth[name])
            return changed
        if not isinstance(truth, str):
            return truth
        digits = truth[2:]
        if len(digits) < WORD:
            number = int(digits or "0", 16)
            return hex(max(0, number + choice.choice((-13, -1, 1, 13, number, -(number // 2)))))
        # A word of a result: a flag, a number, an address, a hash.
        first = choice.randrange(len(digits) // WORD) * WORD
        word = int(digits[first : first + WORD], 16)
        wrong = choice.choice((word ^ 1, word + 1, max(0, word - 1), 0, choice.getrandbits(256)))
        return f"0x{digits[:first]}{wrong % 2**256:064x}{digits[first + WORD :]}"

    def _other_logs(self, logs: list[Any]) -> list[Any]:
        choice, changed = self.choice, copy.deepcopy(logs)
        if not changed:
            return changed
        index = choice.randrange(len(changed))
        drawn = choice.random()
        if drawn < 0.3:
            return changed[:index] if drawn < 0.15 else changed[:index] + changed[index + 1 :]
        if changed[index]["topics"][0] == str(NEW_PRIORITY_REQUEST) and choice.random() < 0.8:
            changed[index]["data"] = self._other_deposit(changed[index])
            return changed
        name = choice.choice(("data", "topics", "blockNumber", "blockHash", "transactionHash"))
        value = changed[index][name]
        if name == "topics":
            place = choice.randrange(len(value))
            value[place] = self._plausible(value[place])
        else:
            changed[index][name] = self._plausible(value)
        return changed

    def _other_deposit(self, log: dict[str, Any]) -> str:
        """Return the data of another deposit with the same id, whose hash fits."""
        number = int(log["blockNumber"], 16)
        [found] = logs_decoder(Address.parse(log["address"]), (), number, number)([log])
        try:
            payload = decode_deposit(found).payload
        except LayerOneMismatch:
            return str(log["data"])
        name = self.choice.choice(("to_mint", "value", "to", "data", "gas_limit", "nonce"))
        false: Any = {"to": Address(b"\x66" * 20), "data": b"\x66"}.get(
            name, self.choice.choice((1, 10**24))
        )
        return hexed(request_data(msgspec.structs.replace(payload, **{name: false})))


def _kind(request: dict[str, Any]) -> str:
    """Return the name of a request, with the contract and the event whose logs it asks for."""
    name = call_name(request["method"], request["params"])
    if name != LOGS:
        return name
    query = request["params"][0]
    return f"{name} {query['address']} {query['topics'][:1]}"


class FalseAnswerRemote(LyingRemote):
    """An L1 that is reached as a remote one is, and gives one false answer at a time."""

    def __init__(self, choice: random.Random) -> None:
        super().__init__()
        self.answers = self.client = OneFalseAnswer(self.api, choice)
        self.l1: LayerOne = RemoteLayerOne(URL, client=self.answers)
