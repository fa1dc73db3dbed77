from itertools import takewhile

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from entresol.primitives.bounded_map import BoundedMap


def test_get_leaves_the_order_so_the_oldest_entry_is_evicted_first() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.get("a") == 1
    entries.put("c", 3)
    assert list(entries) == ["b", "c"]
    assert entries.get("a") is None


def test_reversed_yields_the_newest_first() -> None:
    entries: BoundedMap[str, int] = BoundedMap(3)
    for key in "abc":
        entries.put(key, 0)
    assert list(reversed(entries)) == ["c", "b", "a"]


def test_touch_makes_an_entry_the_newest() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.touch("a") == 1
    entries.put("c", 3)
    assert list(entries) == ["a", "c"]
    assert entries.touch("b") is None


def test_replacing_a_value_makes_it_the_newest() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        entries.put(key, value)
    assert list(entries) == ["a", "c"]
    assert entries.get("a") == 3


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


def test_evicts_until_the_weight_fits() -> None:
    entries: BoundedMap[str, int] = BoundedMap(max_weight=10)
    for key in "abc":
        entries.put(key, 0, weight=3)
    entries.put("d", 0, weight=5)
    assert list(entries) == ["c", "d"]
    assert entries.weight == 8


def test_a_value_heavier_than_the_map_is_not_stored_and_evicts_nothing_else() -> None:
    entries: BoundedMap[str, int] = BoundedMap(max_weight=10)
    entries.put("a", 0, weight=3)
    entries.put("b", 0, weight=4)
    entries.put("b", 1, weight=11)
    assert list(entries) == ["a"]
    assert entries.weight == 3


def test_reports_every_entry_that_leaves() -> None:
    removed: list[tuple[str, int]] = []
    entries: BoundedMap[str, int] = BoundedMap(2, on_remove=lambda *entry: removed.append(entry))
    for key, value in (("a", 1), ("b", 2), ("b", 3), ("c", 4), ("d", 5)):
        entries.put(key, value)
    assert entries.pop("c") == 4
    assert entries.pop("c") is None
    entries.clear()
    assert removed == [("b", 2), ("a", 1), ("b", 3), ("c", 4), ("d", 5)]
    assert len(entries) == 0


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
        assert list(self.map) == [key for key, _, _ in self.model]
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
