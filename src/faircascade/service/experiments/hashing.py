"""Keyed hashes of users: the same in every process, on every machine, for ever."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

_WORD = 64


def bucket_of(user: str, salt: str, purpose: str, buckets: int) -> int:
    """Return which of `buckets` equally likely buckets a user is in.

    Different salts, and different purposes of one salt, give independent buckets.

    >>> bucket_of("user-7", "homepage", "arm", 10_000)
    4955
    """
    digest = blake2b(
        user.encode("utf-8", "surrogatepass"), digest_size=_WORD // 8, key=_key(salt, purpose)
    ).digest()
    return int.from_bytes(digest, "little") * buckets >> _WORD


@lru_cache(maxsize=1024)
def _key(salt: str, purpose: str) -> bytes:
    """Return a key for each pair; lengths go first, so that no two pairs read the same."""
    text = f"{len(salt)}:{salt}{purpose}"
    return blake2b(text.encode(), digest_size=32, person=b"experiments").digest()
