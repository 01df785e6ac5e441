"""A model in this process, for the commands that talk to one without a server."""

from vilfredo.llm import LLM, Options


def open_model(model: str | None, **flags: str | None) -> LLM:
    """Pulls the model if it is not here. Flags that are None were not given."""
    from vilfredo.cli.fetch import present
    from vilfredo.cli.options import settings_from

    name = present(settings_from(model=model).model)
    given = {flag: value for flag, value in flags.items() if value is not None}
    return LLM(name, **given)


def options_from(max_tokens: int, temperature: float, seed: int | None) -> Options:
    options = Options(max_tokens=max_tokens, temperature=temperature)
    if seed is not None:
        options["seed"] = seed
    return options
