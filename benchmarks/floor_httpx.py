"""The floor on httpx: the same job with no agent around it. Usage: URL"""

import asyncio
import json
import os
import sys

import httpx


async def ask(client: httpx.AsyncClient, url: str, messages: list) -> tuple[str, list]:
    tools = [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}}]
    body = {"model": "bench", "messages": messages, "tools": tools, "stream": True}
    text, calls, rest = [], [], b""
    async with client.stream("POST", url, json=body) as reply:
        async for data in reply.aiter_bytes():
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if not line.startswith(b"data: {"):
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    delta = choice["delta"]
                    text.append(delta.get("content") or "")
                    calls += delta.get("tool_calls") or []
    return "".join(text), calls


async def main() -> None:
    messages: list = [{"role": "user", "content": "hi"}]
    async with httpx.AsyncClient(verify=False, timeout=60) as client:
        while True:
            text, calls = await ask(client, sys.argv[1] + "/chat/completions", messages)
            if not calls:
                sys.stdout.write(text + "\n")
                return
            messages.append({"role": "assistant", "tool_calls": calls})
            for call in calls:
                names = "\n".join(sorted(os.listdir(".")))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": names})


asyncio.run(main())
