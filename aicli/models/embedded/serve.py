"""The engine's own process: loads the model, serves it on loopback, and ends when its stdin does.

A process of its own because loading holds the interpreter for seconds: neither Ctrl-C nor a spinner would get through.
Run by path, with nothing of aicli imported. First line of stdin: the options; one line of stdout: the address or an error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def silence() -> int:
    """Points stdout and stderr to nowhere, for whatever the engine prints. The descriptor of the real stdout."""
    answer = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answer


def load(options: dict[str, Any]) -> Any:
    """The running server. Raises RuntimeError or ImportError."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    sys.path.append(options["library"])
    import xllamacpp

    p = xllamacpp.CommonParams()
    p.model.path = options["model"]
    p.n_ctx = options["window"]
    p.n_parallel = 1
    p.use_jinja = True
    p.verbosity = 0
    p.warmup = False
    p.fit_params = False  # to guess what fits in memory costs half a second, and the window is set
    p.no_extra_bufts = True  # weights laid out anew cost another half, and read no faster here
    p.ui = False
    p.port = 0
    p.api_keys = [options["key"]]
    p.slot_save_path = options["slots"] + os.sep
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = options["threads"]
    return xllamacpp.Server(p)


def main() -> None:
    answer = silence()
    options = json.loads(sys.stdin.readline())
    try:
        server = load(options)
        line = {"address": server.listening_address}
    except (RuntimeError, ImportError, OSError, ValueError, AttributeError) as e:
        line = {"error": str(e) or type(e).__name__}
    os.write(answer, json.dumps(line).encode() + b"\n")
    os.close(answer)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
