"""Host names under which a service without keys answers.

Any web page can let a host name of its own point to this machine, make a browser send requests
here, and read the answers (DNS rebinding). Without keys, only the host name tells such requests
from intended ones.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address


@lru_cache(maxsize=256)
def is_here(host: str, given: str) -> bool:
    """Tell whether a Host field names this machine, or the host that the service was given.

    >>> is_here("localhost:8000", ""), is_here("[::1]:8000", ""), is_here("shop.example", "")
    (True, True, False)
    """
    name = name_in(host)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    with suppress(ValueError):
        if ip_address(name).is_loopback:
            return True
    return bool(name) and name == name_in(given)


def name_in(host: str) -> str:
    """Return the name or address in a Host field, without a port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") > 1:  # an address of IPv6, as it is given on the command line
        return host
    return host.partition(":")[0].removesuffix(".")
