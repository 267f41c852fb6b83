"""Who is connected: how many, from which addresses, and who asks for nothing at the moment."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from time import monotonic

from faircascade.service.settings import ServiceSettings

log = logging.getLogger(__name__)

ROOM = 100
"""Further connections that are told to come back later, and may take a moment to read it."""
SPARE_FILES = 74
"""Open files that a process needs beside connections: its store, its log, what it sends."""
UNTAKEN = 128 * 2**20
"""Bytes of answers that may wait for their clients to take them, on all connections together."""
NEW = 1.0
"""Seconds in which a connection has time to ask for something, before it makes room for others of
its own address: of many that come at a moment, each would otherwise close the one before it, whose
request is on its way."""
_SAME_SITE = 64
"""Bits of an address of IPv6 that say whose it is; anybody has all the rest."""


class ConnectionPool:
    """The connections of a service, bounded in number, in all and for each peer.

    Where one more would be too many, the one that has been at rest for the longest makes room, but
    for those of the same peer that are new and still have to ask.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._most = most_connections(settings.max_connections)
        self._per_peer = settings.max_connections_per_peer
        self._proxies = [ip_network(proxy, strict=False) for proxy in settings.proxies]
        self._peers: dict[asyncio.Transport, str] = {}
        self._counts: Counter[str] = Counter()
        self.resting: dict[asyncio.Transport, None] = {}
        """Those without a request, for the longest first."""
        self._unasked: dict[asyncio.Transport, float] = {}  # since when
        self._stalled: dict[asyncio.Transport, None] = {}  # for the longest first
        self._leaving: set[asyncio.Transport] = set()

    def __len__(self) -> int:
        return len(self._peers)

    def enter(self, transport: asyncio.Transport, address: str) -> str | None:
        """Take a connection in, at rest; return why not, if there is no room."""
        peer = peer_of(address)
        if self._counts[peer] >= self._per_peer and not within(address, self._proxies):
            if not self._make_room(peer, of_its_own=True):
                return (
                    f"{peer} has {self._per_peer:,} connections, the most from one address; "
                    "close some, or start the service with --proxy ADDRESS if it is a proxy"
                )
        elif len(self._peers) >= self._most and not self._make_room(peer):
            return f"there are {self._most:,} connections, the most there may be; try again soon"
        self._peers[transport] = peer
        self._counts[peer] += 1
        self.resting[transport] = None
        self._unasked[transport] = monotonic()
        return None

    def leave(self, transport: asyncio.Transport) -> None:
        """Let a connection go, whether it was taken in or turned away."""
        self._leaving.discard(transport)
        self.resting.pop(transport, None)
        self._unasked.pop(transport, None)
        self._stalled.pop(transport, None)
        peer = self._peers.pop(transport, None)
        if peer is not None:
            self._counts[peer] -= 1
            if not self._counts[peer]:
                del self._counts[peer]

    def may_linger(self, transport: asyncio.Transport) -> bool:
        """Tell whether a connection that was turned away may stay until it has read why."""
        if len(self._leaving) >= ROOM:
            return False
        self._leaving.add(transport)
        return True

    def wake(self, transport: asyncio.Transport) -> None:
        """Note that there is a request."""
        self.resting.pop(transport, None)
        self._unasked.pop(transport, None)

    def rest(self, transport: asyncio.Transport) -> None:
        """Note that all requests are answered."""
        if transport in self._peers:
            self.resting[transport] = None

    def stall(self, transport: asyncio.Transport) -> None:
        """Note that answers wait to be taken; where these are too many, cut off the slowest."""
        self._stalled[transport] = None
        while sum(each.get_write_buffer_size() for each in self._stalled) > UNTAKEN:
            slowest = next(iter(self._stalled))
            if slowest is transport:
                return
            self.leave(slowest)
            slowest.abort()

    def flow(self, transport: asyncio.Transport) -> None:
        """Note that answers are taken again."""
        self._stalled.pop(transport, None)

    def _make_room(self, peer: str, *, of_its_own: bool = False) -> bool:
        """Close the connection that has been at rest for the longest, be it one of a peer's own."""
        new = monotonic() - NEW
        for longest in self.resting:
            own = self._peers[longest] == peer
            is_new = own and self._unasked.get(longest, new) > new
            if is_new or (of_its_own and not own):
                continue
            self.leave(longest)
            longest.abort()
            return True
        return False


def most_connections(wanted: int) -> int:
    """Return how many connections there may be, if the process may open as many files.

    Without a file for one more, it could not even be told that there are too many.
    """
    try:
        import resource
    except ModuleNotFoundError:  # there is none for Windows
        return wanted
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY or wanted <= files - SPARE_FILES - ROOM:
        return wanted
    most = max(1, files - SPARE_FILES - ROOM)
    told = {"wanted": wanted, "most": most, "open_files": files}
    log.warning(
        "fewer connections than wanted: raise the limit of open files (ulimit -n)", extra=told
    )
    return most


@lru_cache(maxsize=4096)
def peer_of(address: str) -> str:
    """Return whose address it is: for IPv6, the network of its first 64 bits.

    >>> peer_of("10.0.0.7"), peer_of("::ffff:10.0.0.7"), peer_of("2001:db8::7%eth0")
    ('10.0.0.7', '10.0.0.7', '2001:db8::/64')
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:  # not a socket of IP
        return address
    if found.version == 4:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((found, _SAME_SITE), strict=False))


def within(address: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Tell whether an address is in one of some networks."""
    if not networks:
        return False
    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if found.version == 6 else None
    return any((mapped or found) in network for network in networks)
