"""The system call filter of confined commands, built as BPF bytes; no library needed."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping, Sequence

_LOAD, _EQUAL, _GREATER, _SET, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPES = 1, 5, 0xF
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_NEW_USER = 0x10000000
_X32 = 0x40000000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SAME = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
}
_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "x86_64": {
        **_SAME,
        "ptrace": 101,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "mount": 165,
        "umount2": 166,
        "pivot_root": 155,
        "unshare": 272,
        "setns": 308,
        "bpf": 321,
        "perf_event_open": 298,
        "keyctl": 250,
        "add_key": 248,
        "request_key": 249,
        "userfaultfd": 323,
        "kexec_load": 246,
        "kexec_file_load": 320,
        "init_module": 175,
        "finit_module": 313,
        "delete_module": 176,
        "open_by_handle_at": 304,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "acct": 163,
        "quotactl": 179,
        "iopl": 172,
        "ioperm": 173,
    },
    "aarch64": {
        **_SAME,
        "ptrace": 117,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "mount": 40,
        "umount2": 39,
        "pivot_root": 41,
        "unshare": 97,
        "setns": 268,
        "bpf": 280,
        "perf_event_open": 241,
        "keyctl": 219,
        "add_key": 217,
        "request_key": 218,
        "userfaultfd": 282,
        "kexec_load": 104,
        "kexec_file_load": 294,
        "init_module": 105,
        "finit_module": 273,
        "delete_module": 106,
        "open_by_handle_at": 265,
        "swapon": 224,
        "swapoff": 225,
        "reboot": 142,
        "acct": 89,
        "quotactl": 60,
    },
}
_SPECIAL = {"x86_64": (41, 53, 56, 435, 16), "aarch64": (198, 199, 220, 435, 29)}
"""socket, socketpair, clone, clone3, ioctl"""


def machine() -> str:
    """x86_64 or aarch64; "" where no filter is known."""
    found = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    return found if found in _AUDIT_ARCH else ""


def filter_bytes(arch: str = "", *, sockets: bool = True, also: Sequence[int] = ()) -> bytes:
    """The program as struct sock_filter[]; b"" for an unknown machine.

    Denied: sockets other than IPv4 and IPv6 (all of them without `sockets`), new user namespaces, mounts, tracing,
    io_uring, keys, kernel modules, typing into the terminal; `also` names more numbers. Of socketpair the connected kinds
    stay: a datagram end could send to any UNIX datagram socket of the host.
    """
    arch = arch or machine()
    if not arch:
        return b""
    socket, pair, clone, clone3, ioctl = _SPECIAL[arch]
    deny, allow, absent = _ERRNO | errno.EPERM, _ALLOW, _ERRNO | errno.ENOSYS
    code: list[bytes] = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _AUDIT_ARCH[arch], 1, 0),
        _step(_RETURN, absent),
        _step(_LOAD, _NUMBER),
    ]
    if arch == "x86_64":
        code += [_step(_GREATER, _X32, 0, 1), _step(_RETURN, absent)]
    for number in (*sorted(_NUMBERS[arch].values()), *also):
        code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, deny)]
    code += [_step(_EQUAL, clone3, 0, 1), _step(_RETURN, absent)]  # its flags lie in memory; libc then uses clone
    code += [_step(_EQUAL, clone, 0, 4), _step(_LOAD, _ARGUMENTS)]
    code += [_step(_SET, _NEW_USER, 0, 1), _step(_RETURN, deny), _step(_RETURN, allow)]
    code += [_step(_EQUAL, ioctl, 0, 5), _step(_LOAD, _ARGUMENTS + 8)]
    code += [
        _step(_EQUAL, _TIOCSTI, 1, 0),
        _step(_EQUAL, _TIOCLINUX, 0, 1),
        _step(_RETURN, deny),
        _step(_RETURN, allow),
    ]
    code += [_step(_EQUAL, pair, 0, 9), _step(_LOAD, _ARGUMENTS), _step(_EQUAL, _AF_UNIX, 1, 0), _step(_RETURN, deny)]
    code += [_step(_LOAD, _ARGUMENTS + 8), _step(_AND, _SOCK_TYPES)]
    code += [_step(_EQUAL, _SOCK_STREAM, 2, 0), _step(_EQUAL, _SOCK_SEQPACKET, 1, 0), _step(_RETURN, deny)]
    code += [_step(_RETURN, allow)]
    if sockets:
        code += [_step(_EQUAL, socket, 0, 4), _step(_LOAD, _ARGUMENTS)]
        code += [_step(_EQUAL, _AF_INET, 2, 0), _step(_EQUAL, _AF_INET6, 1, 0), _step(_RETURN, deny)]
    else:
        code += [_step(_EQUAL, socket, 0, 1), _step(_RETURN, deny)]
    return b"".join([*code, _step(_RETURN, allow)])


def _step(operation: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("HBBI", operation, when_true, when_false, value)
