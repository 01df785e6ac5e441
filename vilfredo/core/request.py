"""What is asked of the engine: tokens in, limits on tokens out. Knows neither text nor HTTP."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn from the model's distribution.

    Order of application, as in the OpenAI and Hugging Face conventions: logit_bias, repetition,
    presence and frequency penalties, temperature, top_k, top_p, min_p. A temperature of 0 is
    greedy. `logprobs` asks for that many alternatives a token (0: the chosen token's alone);
    None asks for none. They are log-probabilities of the model's distribution after bias and
    penalties and before temperature and truncation.
    """

    temperature: float = 1.0
    top_k: int = 0  # 0: the whole vocabulary
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int = 0
    logprobs: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Where generation ends. `stop_tokens` includes the model's end tokens unless ignored."""

    max_tokens: int
    stop_tokens: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """One sequence to generate. `output` holds tokens that an earlier engine already gave out."""

    id: str
    prompt: tuple[int, ...]
    limits: Limits
    sampling: Sampling = field(default_factory=Sampling)
    tenant: str = ""  # salts the prefix cache: tenants never share blocks
    service_class: str = "default"
    session: str | None = None
    deadline: float | None = None
    output: tuple[int, ...] = ()
