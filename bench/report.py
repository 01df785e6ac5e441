"""The report: for each model a table of tokens a second, ratios and what was asked of them."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bench.columns import COLUMNS
from bench.compare import Rates
from bench.limits import Limits

# What the project asks of itself: our tokens a second over the best peer's, by column.
SMALL = dict(zip((c.name for c in COLUMNS), (2.0, 2.8, 3.5, 2.5, 2.5, 1.5, 1.5), strict=True))
LARGE = dict(zip((c.name for c in COLUMNS), (2.0, 1.25, 2.2, 2.2, 2.2, 1.5, 1.5), strict=True))
OTHER = dict(zip((c.name for c in COLUMNS), (1.8, 1.4, 2.0, 2.0, 2.0, 1.5, 1.5), strict=True))
FLOORS = {"smollm2-135m": SMALL, "qwen2.5-coder-1.5b": LARGE}

Results = Mapping[str, Mapping[str, Rates]]  # by column, then by peer; ours is the first peer


@dataclass(frozen=True, slots=True)
class Measured:
    model: str
    results: Results
    packed_bytes: int  # of the weights that one token reads
    multiply_adds: int  # of one token, without the head
    absent: tuple[str, ...]  # peers that cannot run it, and why

    def best_peer(self, column: str) -> float:
        _, *peers = self.results[column].values()
        return max((rates.median for rates in peers), default=float("nan"))

    def ours(self, column: str) -> float:
        return next(iter(self.results[column].values())).median

    def ratio(self, column: str) -> float:
        return self.ours(column) / self.best_peer(column)

    def floor(self, column: str) -> float:
        return FLOORS.get(self.model, OTHER)[column]


def report(measured: Sequence[Measured], limits: Limits, threads: int, command: str) -> str:
    lines = [
        "# Speed beside other engines",
        "",
        f"Written by `{command}` on {date.today()}: {threads} threads, the same files and token "
        "ids, engines in turns, medians of at least 5 stretches. The machine is shared: ratios "
        "within one run say more than figures across runs.",
        "",
        f"Processor: {processor()}",
        "",
        "| limit, all threads, best of 12 | |",
        "|---|---|",
        f"| memory read | {limits.read_bytes / 1e9:.1f} GB/s |",
        f"| float32 multiply-adds | {limits.float_fma / 1e9:.0f} G/s |",
        f"| byte dot products | {limits.byte_dot / 1e9:.0f} G multiply-adds/s |",
    ]
    if limits.tile_bytes:
        lines += [
            f"| matrix unit, bytes | {limits.tile_bytes / 1e9:.0f} G multiply-adds/s |",
            f"| matrix unit, bfloat16 | {limits.tile_bfloats / 1e9:.0f} G multiply-adds/s |",
        ]
    for each in measured:
        lines += ["", *_model(each, limits)]
    return "\n".join(lines) + "\n"


def _model(measured: Measured, limits: Limits) -> list[str]:
    columns = list(measured.results)
    peers = list(measured.results[columns[0]])
    lines = [
        f"## {measured.model}",
        "",
        "| tokens/s | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for peer in peers:
        cells = [_cell(measured.results[column].get(peer)) for column in columns]
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    if len(peers) > 1:
        ratios = [f"**{measured.ratio(column):.2f}**" for column in columns]
        lines.append("| ÷ best peer | " + " | ".join(ratios) + " |")
        lines.append("| asked | " + " | ".join(f"≥ {measured.floor(c)}" for c in columns) + " |")
    lines += [f"\n{reason}" for reason in measured.absent]
    lines += ["", *_shares(measured, limits)]
    return lines


def _cell(rates: Rates | None) -> str:
    if rates is None or not rates.values:
        return "-"
    return f"{rates.median:.1f} ({min(rates.values):.0f} to {max(rates.values):.0f})"


def _shares(measured: Measured, limits: Limits) -> list[str]:
    lines = []
    if "B=1" in measured.results:
        read = measured.packed_bytes * measured.ours("B=1")
        lines.append(
            f"B=1 reads {measured.packed_bytes / 1e6:.0f} MB of weights a token: "
            f"{read / 1e9:.1f} GB/s, {read / limits.read_bytes:.0%} of the memory's limit."
        )
    if "prefill 512" in measured.results:
        done = measured.multiply_adds * measured.ours("prefill 512")
        lines.append(
            f"Prefill does {measured.multiply_adds / 1e6:.0f} M multiply-adds a token in matrix "
            f"products: {done / 1e9:.0f} G/s, {done / limits.multiply_adds:.1%} of the byte peak."
        )
    return lines


def processor() -> str:
    """Its name and the instruction sets that matter here; no host's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in text.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    wanted = ("avx2", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")
    found = [each for each in wanted if each in fields.get("flags", "").split()]
    return f"{fields.get('model name', platform.machine())}; {', '.join(found)}"
