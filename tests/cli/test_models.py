from vilfredo.weights.catalog import CATALOG


def test_the_catalog_is_listed_with_what_is_here(vilfredo, empty_cache):
    ended = vilfredo("models")
    assert (ended.code, ended.err) == (0, "")
    rows = {line.split()[0]: line for line in ended.out.splitlines() if line.strip()}
    for name, entry in CATALOG.items():
        assert f"{entry.size / 1e6:,.0f} MB" in rows[name]
        assert " no " in rows[name]
