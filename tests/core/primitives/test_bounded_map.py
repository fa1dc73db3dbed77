from itertools import takewhile

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from entresol.primitives.bounded_map import BoundedMap


def test_a_copy_has_the_same_entries_and_bounds_and_changes_alone() -> None:
    entries: BoundedMap[str, int] = BoundedMap(3, max_weight=10)
    entries.put("a", 1, weight=3)
    entries.put("b", 2, weight=4)
    copied = entries.copy()
    copied.put("c", 3, weight=5)
    assert list(copied) == ["b", "c"]
    assert copied.weight == 9
    assert list(entries) == ["a", "b"]
    assert entries.weight == 7


_KEYS = st.integers(0, 7)


class BoundedMapMachine(RuleBasedStateMachine):
    """Compares the map with a list of entries, the oldest first."""

    max_entries, max_weight = 4, 12

    def __init__(self) -> None:
        super().__init__()
        self.removed: list[tuple[int, int]] = []
        self.map: BoundedMap[int, int] = BoundedMap(
            self.max_entries,
            max_weight=self.max_weight,
            on_remove=lambda *entry: self.removed.append(entry),
        )
        self.model: list[tuple[int, int, int]] = []
        self.gone: list[tuple[int, int]] = []

    @rule(key=_KEYS, value=st.integers(0, 99), weight=st.integers(0, 14))
    def put(self, key: int, value: int, weight: int) -> None:
        self._drop(key)
        if weight <= self.max_weight:
            self.model.append((key, value, weight))
        while len(self.model) > self.max_entries or self._weight() > self.max_weight:
            self._drop(self.model[0][0])
        self.map.put(key, value, weight)

    @rule(key=_KEYS)
    def get(self, key: int) -> None:
        assert self.map.get(key) == self._value(key)

    @rule(key=_KEYS)
    def touch(self, key: int) -> None:
        self.model.sort(key=lambda entry: entry[0] == key)
        assert self.map.touch(key) == self._value(key)

    @rule(key=_KEYS)
    def pop(self, key: int) -> None:
        assert self.map.pop(key) == self._value(key)
        self._drop(key)

    @rule()
    def clear(self) -> None:
        for key, _, _ in tuple(self.model):
            self._drop(key)
        self.map.clear()

    @rule(limit=_KEYS)
    def pop_all(self, limit: int) -> None:
        for key in [key for key, _, _ in self.model if key > limit]:
            self._drop(key)
        self.map.pop_all(limit.__lt__)

    @rule(limit=_KEYS)
    def pop_newest(self, limit: int) -> None:
        for key, _, _ in tuple(takewhile(lambda entry: entry[0] > limit, reversed(self.model))):
            self._drop(key)
        self.map.pop_newest(limit.__lt__)

    @invariant()
    def agrees_with_the_model(self) -> None:
        keys = [key for key, _, _ in self.model]
        assert (list(self.map), list(reversed(self.map))) == (keys, keys[::-1])
        assert len(self.map) == len(self.model)
        assert self.map.weight == self._weight()
        assert self.removed == self.gone
        assert all((key in self.map) == (self._value(key) is not None) for key in range(8))

    def _value(self, key: int) -> int | None:
        return next((value for known, value, _ in self.model if known == key), None)

    def _weight(self) -> int:
        return sum(weight for _, _, weight in self.model)

    def _drop(self, key: int) -> None:
        self.gone += [(known, value) for known, value, _ in self.model if known == key]
        self.model = [entry for entry in self.model if entry[0] != key]


TestBoundedMapMachine = BoundedMapMachine.TestCase
