"""`vilfredo serve MODEL`: the engine in a process of its own, OpenAI's API in front of it."""

import json
import socket
from typing import Annotated

import typer

from vilfredo.cli.options import (
    Config,
    Context,
    KvMegabytes,
    MaxSequences,
    Table,
    Threads,
    TokenBudget,
)


def command(
    model: Annotated[
        str | None, typer.Argument(help="A catalog name (see `vilfredo models`) or a path.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[str | None, typer.Option(help="The port; 0 picks a free one.")] = None,
    served_name: Annotated[str | None, typer.Option(help="What requests call the model.")] = None,
    threads: Threads = None,
    context: Context = None,
    kv_megabytes: KvMegabytes = None,
    max_sequences: MaxSequences = None,
    token_budget: TokenBudget = None,
    table: Table = None,
    config: Config = None,
) -> None:
    """Serve a model over the OpenAI API."""
    from vilfredo.cli.options import settings_from
    from vilfredo.server.run import bind, run

    settings = settings_from(
        config,
        model=model,
        host=host,
        port=port,
        served_name=served_name,
        threads=threads,
        context=context,
        kv_megabytes=kv_megabytes,
        max_sequences=max_sequences,
        token_budget=token_budget,
        table=table,
    )
    with bind(settings.host, settings.port) as listening:
        run(_serve(settings, listening))


async def _serve(settings, listening: socket.socket) -> None:
    from dataclasses import replace

    from vilfredo.base.clock import SystemClock
    from vilfredo.cli.fetch import present
    from vilfredo.engine.assemble import assemble
    from vilfredo.engine.client import EngineClient
    from vilfredo.engine.link import ProcessLink
    from vilfredo.server.run import Server
    from vilfredo.server.service import Service
    from vilfredo.text.load import load_template, load_tokenizer

    assembly = assemble(replace(settings, model=present(settings.model)))
    plan, clock = assembly.plan, SystemClock()
    print(plan.describe(), flush=True)
    engine = EngineClient(plan, ProcessLink.launch, clock)
    try:
        await engine.start()
        tokenizer = load_tokenizer(assembly.checkpoint)
        service = Service(
            served_name=plan.served_name,
            tokenizer=tokenizer,
            template=load_template(assembly.checkpoint, tokenizer),
            door=engine,
            context=plan.context,
            vocabulary=assembly.spec.vocabulary,
            created=int(assembly.checkpoint.path.stat().st_mtime),
            clock=clock,
        )
        print(_greeting(plan.served_name, service.template is not None, listening), flush=True)
        await Server(service, cut=engine.stop).serve(sockets=[listening])
    finally:
        await engine.stop()
    print("Stopped.", flush=True)


def _greeting(name: str, chats: bool, listening: socket.socket) -> str:
    """The URL, and a line that works as it stands when pasted into a shell."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    url = f"http://{host}:{port}"
    body = {"model": name, "max_tokens": 64, "stream": True}
    if chats:
        path, asked = "chat/completions", {"messages": [{"role": "user", "content": "Hello!"}]}
    else:
        path, asked = "completions", {"prompt": "Once upon a time"}
    return (
        f"\nServing {name} on {url}  (Ctrl-C stops)\n\n"
        f"curl -N {url}/v1/{path} -H 'Content-Type: application/json' \\\n"
        f"  -d '{json.dumps(body | asked)}'\n"
    )
