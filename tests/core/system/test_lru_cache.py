"""The cache of what was used last."""

from ragkit.system.lru_cache import LruCache


def test_the_cache_keeps_to_its_size_and_drops_what_was_used_longest_ago() -> None:
    cache: LruCache[str, str | None] = LruCache(1000, overhead=300)
    cache.put({"a": ("A", 100), "b": (None, 100)})
    assert cache.get(["a", "b", "c"]) == {"a": "A", "b": None}
    cache.get(["a"])
    cache.put({"c": ("C", 100)})
    assert cache.get(["a", "b", "c"]) == {"a": "A", "c": "C"}
    assert cache.size == 2 * 400
    cache.put({"a": ("too large", 2000)})
    assert (cache.get(["a", "c"]), cache.size) == ({}, 0)
