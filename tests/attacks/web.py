"""D39 and D40: addresses that lead inside."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from tests.attacks.site import Site, case

HITS: list[str] = []


class Inside(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        HITS.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"canary-inside")

    def log_message(self, *_: object) -> None:
        pass


def refused(site: Site, urls: list[str], mode: str = "bypass") -> None:
    for url in urls:
        outcome = site.call("web_fetch", mode, [True], url=url)
        site.check(url, outcome.is_error and "canary-inside" not in outcome.text and not HITS, outcome.asked)


@case("D39")
def internal_addresses(site: Site) -> None:
    HITS.clear()
    with HTTPServer(("127.0.0.1", 0), Inside) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        port = server.server_address[1]
        hosts = "127.0.0.1 localhost x.localhost [::1] 127.1 2130706433 0x7f000001 0177.0.0.1 0.0.0.0 localhost."
        urls = [f"http://{host}:{port}/" for host in (*hosts.split(), "[::ffff:127.0.0.1]", "127。0。0。1")]
        refused(site, urls)
        server.shutdown()
    more = ["10.0.0.1", "169.254.169.254/latest/meta-data", "192.168.1.1", "[fd00::1]", "100.100.100.200"]
    refused(site, [f"http://{m}" for m in more])


@case("D40")
def other_schemes(site: Site) -> None:
    HITS.clear()
    refused(site, ["file:///etc/passwd", "ftp://example.org/x", "gopher://x/", "//example.org", "data:text/plain,x"])
    refused(site, ["http://user:pw@example.org/", "http://example.org\\@127.0.0.1/", "http://exa mple.org/", "\x00"])
