"""Run inside a network namespace where every address is this machine: web_fetch is sent at all of them.

One server listens on ports 80 and 443 of every address there is, and a resolver of its own answers what an attacker's
would: addresses of each class, both kinds at once, another one the second time. Prints a JSON object of counts.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

from aicli.testing import Outcome, call_tool
from tests.safety.test_addresses import INNER

PUBLIC4, PUBLIC6 = "93.184.216.34", "2606:4700:4700::1111"
SEEN: list[str] = []
"""The address that each connection came in on."""
ASKED: Counter[str] = Counter()
"""Questions to the resolver, by name and kind."""


class Server(BaseHTTPRequestHandler):
    """Any path answers; /to/CODE/URL redirects there, /hop/N/URL after N more steps."""

    def do_GET(self) -> None:
        kind, _, rest = self.path[1:].partition("/")
        number, _, target = rest.partition("/")
        if kind == "hop" and int(number) > 0:
            return self.send(302, f"/hop/{int(number) - 1}/{target}")
        if kind in ("to", "hop"):
            return self.send(int(number) or 302, unquote(target))
        return self.send(200)

    def send(self, code: int, location: str = "") -> None:
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"reached")

    def log_message(self, *_: object) -> None:
        pass


class Everywhere(ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True

    def get_request(self) -> tuple[socket.socket, object]:
        made, peer = self.socket.accept()
        SEEN.append(made.getsockname()[0].removeprefix("::ffff:"))
        return made, peer

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def addresses(name: str) -> list[str]:
    """What the resolver says of a name."""
    turn = ASKED[name + " A"]
    first = name.split(".")[0]
    if first.startswith("a-"):
        return [str(ipaddress.ip_address(bytes.fromhex(first[2:])))]
    return {
        "public": [PUBLIC4],
        "public6": [PUBLIC6],
        "rebind": [PUBLIC4 if turn <= 1 else "127.0.0.1"],
        "mixed": [PUBLIC4, "10.0.0.1"],
        "last": [PUBLIC4, PUBLIC4.replace("34", "35"), "169.254.169.254"],
        "half": [PUBLIC4, "::1"],
        "www": ["127.0.0.1"],
    }.get(first, [])


def resolver() -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))

    def serve() -> None:
        while True:
            data, peer = sock.recvfrom(2_000)
            labels, at = [], 12
            while data[at]:
                labels.append(data[at + 1 : at + 1 + data[at]].decode())
                at += data[at] + 1
            kind = struct.unpack("!H", data[at + 1 : at + 3])[0]
            name = ".".join(labels).lower()
            ASKED[f"{name} {'A' if kind == 1 else 'AAAA'}"] += 1
            size = {1: 4, 28: 16}.get(kind)
            found = [a for a in map(ipaddress.ip_address, addresses(name)) if len(a.packed) == size]
            body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(a.packed)) + a.packed for a in found)
            head = data[:2] + b"\x81\x80" + struct.pack("!HHHH", 1, len(found), 0, 0)
            sock.sendto(head + data[12 : at + 5] + body, peer)

    threading.Thread(target=serve, daemon=True).start()


def listen(port: int, certificate: Path | None = None) -> None:
    server = Everywhere(("::", port), Server)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()


def host_of(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def name_of(address: str) -> str:
    return f"a-{ipaddress.ip_address(address).packed.hex()}.evil.example"


def reachable() -> int:
    """How many of the inner addresses a careless program would reach here."""
    found = 0
    for address in INNER:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
            sock.settimeout(0.3)
            found += sock.connect_ex((address, 80)) == 0
    return found


TRICKS = """127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0 127.0.0.1. 127。0。0。1 １２７.0.0.1 ①27.0.0.1 [::]
localhost localhost. LOCALHOST x.localhost db.local metadata.google.internal [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1]
[::127.0.0.1] [fe80::1%25lo] [fe80::1%lo] user@127.0.0.1 public.example@127.0.0.1 public.example\\@127.0.0.1
127.0.0.1#public.example 127.0.0.1:80 127.0.0.1:00080 1.1.1.1.127.0.0.1 %31%32%37.0.0.1
mixed.example last.example half.example""".split()  # noqa: SIM905
TARGETS = ("http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/")
TARGETS += ("http://10.0.0.1/", "//127.0.0.1/", "http://2130706433/", "http://u:p@127.0.0.1/", "file:///etc/passwd")
TARGETS += (f"http://{name_of('127.0.0.1')}/", f"http://{name_of('fd00::1')}/", "http://www.public.example/")
TARGETS += ("http://public.example:80@127.0.0.1/", "http:\\\\127.0.0.1/", "http://127.0.0.1:443/")
TARGETS += ("https://127.0.0.1/", "gopher://127.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://rebind.example/")


class Attack:
    def __init__(self, work: Path) -> None:
        self.work = work
        self.passed: list[str] = []

    def fetch(self, url: str, mode: str = "bypass", answers: tuple[bool, ...] = (True, True, True)) -> Outcome:
        return call_tool("web_fetch", {"url": url}, self.work, mode, answers)

    def refused(self, urls: list[str]) -> int:
        self.passed += [url for url in urls if not self.fetch(url).is_error]
        return len(urls)

    def before_the_answer(self) -> list[str]:
        """What leaves while the question stands: connections and questions to the resolver."""
        SEEN.clear()
        ASKED.clear()
        for url in (
            "http://public.example/",
            "http://rebind.example/?q=secret",
            f"http://{PUBLIC4}/",
            "http://10.0.0.1/",
        ):
            said = self.fetch(url, "default", ())
            self.passed += [] if said.is_error else [f"unasked {url}"]
        return [*SEEN, *ASKED]


def main(work: Path, small: bool, certificate: Path | None) -> dict[str, object]:
    resolver()
    listen(80)
    if certificate:
        listen(443, certificate)
    attack = Attack(work)
    answering = reachable()
    while len(SEEN) < answering:  # each of those connections has been taken
        time.sleep(0.01)
    counts: dict[str, object] = {"reachable": answering, "unasked": attack.before_the_answer()}
    SEEN.clear()
    part = slice(None, None, 9 if small else None)
    counts["addresses"] = attack.refused(
        [f"http://{host_of(a)}/" for a in INNER[part]] + [f"http://{name_of(a)}/" for a in INNER[part]]
    )
    counts["tricks"] = attack.refused([f"http://{t}/" for t in TRICKS[part]])
    codes = (302,) if small else (301, 302, 303, 307, 308)
    shapes = [f"http://public.example/to/{c}/{quote(t, safe='')}" for c in codes for t in TARGETS[part]]
    shapes += [f"http://public.example/hop/{n}/{quote(TARGETS[0], safe='')}" for n in ((3,) if small else (1, 4, 5, 9))]
    if certificate:
        to = ("http://public.example/x", "http://127.0.0.1/")
        shapes += [f"https://public.example/to/302/{quote(t, safe='')}" for t in to]
    counts["redirects"] = attack.refused(shapes)
    counts["rebinding"] = rebinding(attack)
    counts["inner_hits"] = [a for a in SEEN if a not in (PUBLIC4, PUBLIC6)]
    counts["passed"] = attack.passed
    wanted = ["http://public.example/", "http://public6.example/", "http://public.example/to/302/%2Fx"]
    wanted += [
        "http://public.example/#@127.0.0.1/",
        f"http://public.example/to/302/{quote('http:/127.0.0.1/', safe='')}",
    ]
    wanted += ["https://public.example/"] if certificate else []
    counts["public"] = [u for u in wanted if "reached" not in attack.fetch(u).text]
    return counts


def rebinding(attack: Attack) -> int:
    """The name that is public when it is checked and this machine a moment later, alone and after a redirect to itself."""
    ASKED.clear()
    first = attack.fetch("http://rebind.example/")
    if "reached" not in first.text or ASKED["rebind.example A"] != 1:
        attack.passed.append(f"looked up {ASKED['rebind.example A']} times")
    ASKED.clear()
    attack.refused(["http://rebind.example/to/302/%2Fx"])
    if ASKED["rebind.example A"] != 2:
        attack.passed.append("the redirect was not looked up anew")
    attack.refused(["http://rebind.example/"])
    return 3


if __name__ == "__main__":
    pem = Path(sys.argv[3])
    if pem.exists():
        os.environ["SSL_CERT_FILE"] = str(pem)
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2] == "small", pem if pem.exists() else None)))
