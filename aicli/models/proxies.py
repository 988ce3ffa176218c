"""Which proxy a URL goes through, by the environment and the system's settings as they are now."""

from __future__ import annotations

import ipaddress
import os
import sys
from urllib.parse import urlsplit


def proxy_for(url: str) -> str | None:
    """The proxy's URL, or None for a direct connection."""
    if sys.platform not in ("win32", "darwin") and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    import urllib.request  # with http.client and email 30 ms on a slow machine, and only where there is a proxy

    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or not parts.hostname or _bypassed(parts.hostname, parts.port, proxies.get("no", "")):
        return None
    if "no" not in proxies and urllib.request.proxy_bypass(parts.hostname):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypassed(host: str, port: int | None, rules: str) -> bool:
    return any(_matches(host.lower(), port, rule.strip().lower()) for rule in rules.split(",") if rule.strip())


def _matches(host: str, port: int | None, rule: str) -> bool:
    if rule == "*":
        return True
    bare, colon, number = rule.rpartition(":")
    if colon and number.isdigit() and ":" not in bare.strip("[]"):
        if port != int(number):
            return False
        rule = bare
    rule = rule.strip("[]")
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(rule, strict=False)
    except ValueError:
        pass
    rule = rule.removeprefix("*").lstrip(".")
    return host == rule or host.endswith("." + rule)
