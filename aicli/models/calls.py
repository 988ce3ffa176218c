"""CallTracks: the fragments of streamed tool calls, told apart however a server numbers them."""

from __future__ import annotations

import json
from typing import Any

from aicli.content.stream import CallDelta


class CallTracks:
    """Keys on the index; without one on the id; without either on the last call. A new id on a used index is a new call."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._by_key: dict[object, int] = {}
        self._ids: list[str] = []
        self._names: list[str] = []
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._ids)

    def feed(self, call: dict[str, Any]) -> list[CallDelta]:
        function = call.get("function") or {}
        id_, name, args = str(call.get("id") or ""), str(function.get("name") or ""), function.get("arguments")
        number = self._number(call.get("index"), id_, name)
        if number is None:
            number = len(self._ids)
            self._ids.append(id_)
            self._names.append(name)
            self._texts.append("")
        else:
            self._ids[number] = self._ids[number] or id_
            self._names[number] = self._names[number] or name
        for key in (call.get("index"), id_):
            if key not in (None, ""):
                self._by_key[key] = number
        extra = {k: call[k] for k in ("extra_content",) if call.get(k)}
        meta = {self._provider: extra} if extra else None
        if isinstance(args, dict):
            return [CallDelta(number, id_, name, args=args, meta=meta)]
        text = args if isinstance(args, str) else ""
        self._texts[number] += text
        return [CallDelta(number, id_, name, text, meta=meta)]

    def minted(self, turn: int) -> list[CallDelta]:
        """Ids for the calls that came without one, the same for the same reply."""
        return [CallDelta(n, f"call_{turn}_{n}") for n, id_ in enumerate(self._ids) if not id_]

    def _number(self, index: object, id_: str, name: str) -> int | None:
        if index is not None:
            number = self._by_key.get(index)
        elif id_:
            number = self._by_key.get(id_)
        else:
            number = len(self._ids) - 1 if self._ids and not (name and self._names[-1]) else None
        if number is not None and id_ and name and self._ids[number] not in ("", id_) and self._whole(number):
            return None
        return number

    def _whole(self, number: int) -> bool:
        text = self._texts[number]
        try:
            json.loads(text or "{}")
        except (ValueError, RecursionError):
            return False
        return True


def join_details(details: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    """Joins the streamed pieces of one reasoning block, so that the blocks go back as the server means them."""
    for piece in more:
        last = details[-1] if details else None
        same = last is not None and all(last.get(k) == piece.get(k) for k in ("type", "index"))
        if last is None or not same or piece.get("type") == "reasoning.encrypted":
            details.append(dict(piece))
            continue
        for key, value in piece.items():
            if key in ("text", "summary") and value:
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value
