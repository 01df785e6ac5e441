"""`vilfredo serve MODEL`: the engine in a process of its own, OpenAI's API in front of it."""

import socket
from typing import TYPE_CHECKING, Annotated

import typer

from vilfredo.cli.options import (
    Config,
    Context,
    KvMegabytes,
    MaxSequences,
    PackedCache,
    Table,
    Threads,
    TokenBudget,
)

if TYPE_CHECKING:
    from vilfredo.base.clock import Clock
    from vilfredo.engine.assemble import Assembly
    from vilfredo.engine.client import EngineClient
    from vilfredo.server.run import Server
    from vilfredo.server.service import Service


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
    packed_cache: PackedCache = None,
    config: Config = None,
) -> None:
    """Serve a model over the OpenAI API."""
    from dataclasses import replace

    from vilfredo.cli.fetch import present
    from vilfredo.cli.options import settings_from
    from vilfredo.engine.assemble import assemble
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
        packed_cache=packed_cache,
    )
    with bind(settings.host, settings.port) as listening:
        # Outside the event loop, where the first Ctrl-C ends even a long pull.
        assembly = assemble(replace(settings, model=present(settings.model)))
        print(assembly.plan.describe(), flush=True)
        run(_serve(assembly, listening))
    print("Stopped.", flush=True)


async def _serve(assembly: "Assembly", listening: socket.socket) -> None:
    import asyncio

    from vilfredo.base.clock import SystemClock
    from vilfredo.cli.greeting import greeting
    from vilfredo.engine.client import EngineClient
    from vilfredo.engine.link import ProcessLink
    from vilfredo.server.run import Server

    clock = SystemClock()
    engine = EngineClient(assembly.plan, ProcessLink.launch, clock)
    try:
        service, _ = await asyncio.gather(  # the worker loads the weights meanwhile
            asyncio.to_thread(_service, assembly, engine, clock), engine.start()
        )
        host, port = listening.getsockname()[:2]
        chats = service.template is not None
        print(greeting(service.served_name, chats, host, port), flush=True)
        server = Server(service, cut=engine.stop)
        watch = asyncio.create_task(_drain_when_dead(engine, server))
        await server.serve(sockets=[listening])
        await engine.stop()
        await watch
    finally:
        await engine.stop()


def _service(assembly: "Assembly", engine: "EngineClient", clock: "Clock") -> "Service":
    from vilfredo.server.service import Service
    from vilfredo.text.load import load_template, load_tokenizer

    tokenizer = load_tokenizer(assembly.checkpoint)
    return Service(
        served_name=assembly.plan.served_name,
        tokenizer=tokenizer,
        template=load_template(assembly.checkpoint, tokenizer),
        door=engine,
        context=assembly.plan.context,
        vocabulary=assembly.spec.vocabulary,
        created=int(assembly.checkpoint.path.stat().st_mtime),
        clock=clock,
    )


async def _drain_when_dead(engine: "EngineClient", server: "Server") -> None:
    """A server without an engine is better gone, for whoever started it to see."""
    try:
        await engine.died()
    finally:
        server.drain()
