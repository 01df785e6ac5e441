from pathlib import Path

from vilfredo.base.cache import cache_root


def test_the_nearest_wish_wins():
    assert cache_root({"VILFREDO_CACHE": "/v", "XDG_CACHE_HOME": "/x"}) == Path("/v")
    assert cache_root({"XDG_CACHE_HOME": "/x"}) == Path("/x/vilfredo")
    assert cache_root({"XDG_CACHE_HOME": ""}) == Path.home() / ".cache" / "vilfredo"
    assert cache_root({"VILFREDO_CACHE": "~/v"}) == Path.home() / "v"
