"""What a server says when it is ready: where it is, and a line to paste into a shell."""

import json


def greeting(name: str, chats: bool, host: str, port: int) -> str:
    """The line works as it stands, also for a name that holds quotes."""
    url = f"http://{_reachable(host)}:{port}"
    body = {"model": name, "max_tokens": 64, "stream": True}
    if chats:
        path, asked = "chat/completions", {"messages": [{"role": "user", "content": "Hello!"}]}
    else:
        path, asked = "completions", {"prompt": "Once upon a time"}
    text = json.dumps(body | asked).replace("'", r"\u0027")  # the shell's quotes are around it
    return (
        f"\nServing {name} on {url}  (Ctrl-C stops)\n\n"
        f"curl -N {url}/v1/{path} -H 'Content-Type: application/json' \\\n"
        f"  -d '{text}'\n"
    )


def _reachable(host: str) -> str:
    """As it stands in a URL; whoever listens on every address is reached on the loopback."""
    match host:
        case "0.0.0.0":
            return "127.0.0.1"
        case "::":
            return "[::1]"
        case _:
            return f"[{host}]" if ":" in host else host
