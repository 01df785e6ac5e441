"""Flags over environment over TOML over defaults."""

from vilfredo.base.settings import AUTO, Settings
from vilfredo.cli.options import settings_from


def test_a_flag_that_was_not_given_leaves_the_others_their_say(monkeypatch, tmp_path):
    monkeypatch.delenv("VILFREDO_PACKED_CACHE", raising=False)  # the tests' own
    assert settings_from(port=None, host=None) == Settings()
    toml = tmp_path / "settings.toml"
    toml.write_text('host = "toml"\nport = 1\nthreads = 1\ncontext = 1')
    monkeypatch.setenv("VILFREDO_PORT", "2")
    monkeypatch.setenv("VILFREDO_THREADS", "2")
    settings = settings_from(toml, threads="3", table=None, context=AUTO)
    assert (settings.host, settings.port, settings.threads) == ("toml", 2, 3)
    assert (settings.table, settings.context) == (AUTO, AUTO)
