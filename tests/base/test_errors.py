from vilfredo.base.errors import BadFile, InvalidInput, Overloaded, VilfredoError


def test_invalid_input_names_the_field():
    error = InvalidInput("top_p", "must be at most 1")
    assert (str(error), error.field, error.reason) == (
        "top_p: must be at most 1",
        "top_p",
        "must be at most 1",
    )
    assert isinstance(error, VilfredoError)


def test_bad_file_names_the_byte_where_it_is_known():
    assert str(BadFile("a.gguf", "is cut short", byte=0)) == "a.gguf, byte 0: is cut short"
    error = BadFile("a.gguf", "is no GGUF")
    assert (str(error), error.path, error.byte, error.reason) == (
        "a.gguf: is no GGUF",
        "a.gguf",
        None,
        "is no GGUF",
    )


def test_overloaded_says_when_to_come_back():
    error = Overloaded("the queue is full", 2.5)
    assert (str(error), error.reason, error.retry_after) == (
        "the queue is full",
        "the queue is full",
        2.5,
    )
