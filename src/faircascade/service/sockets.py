"""The socket that a server listens on, and who can reach it."""

from __future__ import annotations

import errno
import os
import socket
from ipaddress import ip_address

from faircascade.errors import ParameterError


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address, a name or an IP of either version; port 0 is any."""
    if not 0 <= port < 2**16:
        raise ParameterError("port", f"must be between 0 and {2**16 - 1}", port)
    family, address = _resolve(host.removeprefix("[").removesuffix("]"), port)
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # a port of a server that just ended can be taken again
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ValueError(_reason(error, host, port)) from None
    return listener


def _resolve(host: str, port: int) -> tuple[int, tuple[object, ...]]:
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise ParameterError("host", "must be an address of this machine", host) from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)  # what every client can use, first
    family, _, _, _, address = found[0]
    return family, address


def _reason(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another with --port (0 picks a free one)"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"host must be an address of this machine, got {host!r}"
    return f"{host}, port {port}: cannot listen there ({error.strerror})"


def is_local(listener: socket.socket) -> bool:
    """Say whether only programs on this machine can reach a socket."""
    host: str = listener.getsockname()[0]
    return ip_address(host.partition("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    """Return the address of a server, without a slash at the end."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
