"""The floor on the standard library: the same job with no agent around it. Usage: URL TURNS"""

import http.client
import json
import os
import sys
from urllib.parse import urlsplit


def ask(connection: http.client.HTTPConnection, path: str, messages: list) -> tuple[str, list]:
    tools = [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}}]
    body = json.dumps({"model": "bench", "messages": messages, "tools": tools, "stream": True})
    connection.request("POST", path, body, {"content-type": "application/json"})
    reply = connection.getresponse()
    text, calls = [], []
    for line in reply:
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            delta = choice["delta"]
            text.append(delta.get("content") or "")
            calls += delta.get("tool_calls") or []
    reply.read()
    return "".join(text), calls


def main() -> None:
    url = urlsplit(sys.argv[1])
    connection = http.client.HTTPConnection(url.netloc)
    messages: list = [{"role": "user", "content": "hi"}]
    while True:
        text, calls = ask(connection, url.path + "/chat/completions", messages)
        if not calls:
            sys.stdout.write(text + "\n")
            return
        messages.append({"role": "assistant", "tool_calls": calls})
        for call in calls:
            names = "\n".join(sorted(os.listdir(".")))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": names})


main()
