def test_a_table_beside_itself_parts_nowhere(vilfredo, tiny_gguf):
    ended = vilfredo("verify", tiny_gguf, "--table", "reference", "--prompt", "the cat")
    assert ended.code == 0
    assert "reference against reference" in ended.out
    assert "Same most likely token: 100.0%" in ended.out
    rows = [line.split() for line in ended.out.splitlines()]
    assert ["logits", "0.00e+00", "0.00e+00"] in rows
