"""The synchronous and the asynchronous client; what they send is in `operations`."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from faircascade.client import operations
from faircascade.client.connection import Connection, require_httpx
from faircascade.client.models import Item
from faircascade.client.retry import Attempt, Failure, RetryPolicy, run_operation
from faircascade.client.transport import Operation, Reply

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")

LOCAL = "http://127.0.0.1:8000"
"""Where the service listens by default."""


def _waiting(call: Callable[P, Operation[T]]) -> Callable[Concatenate[Client, P], T]:
    @wraps(call)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(call(*args, **kwargs))

    _show(method, call)
    return method


def _awaited(
    call: Callable[P, Operation[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @wraps(call)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(call(*args, **kwargs))

    _show(method, call)
    return method


def _show(method: Any, call: Callable[..., Any]) -> None:
    """Let `help` show the method with the call's parameters."""
    signature = inspect.signature(call)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(
        parameters=[itself, *signature.parameters.values()],
        return_annotation=inspect.Signature.empty,  # the steps to it are nobody's business
    )


class Client:
    """Asks the service and waits for the answer. Safe for several threads.

    Calls that do the same when sent twice are repeated if the service cannot be reached or cannot
    answer now. A recommendation, which is counted as shown, is repeated only if it surely was not:
    if the service could not be reached, or answered 503 or 429, which says that nothing was
    counted. What does not succeed raises a `ServiceError`.

    How patient it is, by default enough for a service that is started anew:

    - `timeout`, 5 s: how long to wait for a connection, and for the service to say something.
    - `deadline`, 15 s: when to give up, pauses and attempts taken together.
    - `retries`, as many as there is time for: how often to try again at most.

    Before each new attempt there is a pause of random length: up to 0.1 s the first time, then up
    to twice as long each time, up to 2 s. A `Retry-After` of the service is waited for in
    addition, up to 10 s. A pause that would last until the deadline ends half a second before it.
    """

    def __init__(
        self,
        url: str = LOCAL,
        *,
        key: str | None = None,
        timeout: float = 5.0,
        retries: int | None = None,
        deadline: float = 15.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Set where the service is and how patient to be.

        `key` is $FAIRCASCADE_KEY by default. `transport` is another way for HTTPX to send.
        """
        require_httpx()
        import httpx

        self._connection = Connection.to(url, key)
        self._settings = RetryPolicy(timeout=timeout, retries=retries, deadline=deadline)
        self._sleep = sleep
        self._http = httpx.Client(**self._connection.options(), transport=transport)

    recommend = _waiting(operations.recommend)
    recommend_many = _waiting(operations.recommend_many)
    feedback = _waiting(operations.feedback)
    feedback_many = _waiting(operations.feedback_many)
    put_items = _waiting(operations.put_items)
    remove_item = _waiting(operations.remove_item)
    item = _waiting(operations.item)
    user = _waiting(operations.user)
    erase_user = _waiting(operations.erase_user)
    exposure = _waiting(operations.exposure)
    exposure_items = _waiting(operations.exposure_items)
    exposure_history = _waiting(operations.exposure_history)
    policies = _waiting(operations.policies)
    put_policy = _waiting(operations.put_policy)
    choose_version = _waiting(operations.choose_version)
    remove_policy = _waiting(operations.remove_policy)
    shadow = _waiting(operations.shadow)
    put_shadow = _waiting(operations.put_shadow)
    kill_switch = _waiting(operations.kill_switch)
    put_kill_switch = _waiting(operations.put_kill_switch)
    experiments = _waiting(operations.experiments)
    experiment = _waiting(operations.experiment)
    begin_experiment = _waiting(operations.begin_experiment)
    ramp_experiment = _waiting(operations.ramp_experiment)
    stop_experiment = _waiting(operations.stop_experiment)
    resume_experiment = _waiting(operations.resume_experiment)
    end_experiment = _waiting(operations.end_experiment)
    policy = _waiting(operations.policy)
    ready = _waiting(operations.ready)

    def items(self, *, page: int | None = None) -> Iterator[Item]:
        """Iterate over the catalogue, `page` items a request.

        Items that are removed meanwhile may hide others from it.
        """
        offset: int | None = 0
        while offset is not None:
            items, offset = self._run(operations.item_page(offset, page))
            yield from items

    def close(self) -> None:
        """Close the connections; `with` does so at its end."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def _run(self, steps: Operation[T]) -> T:
        flow = run_operation(steps, self._settings)
        try:
            attempt = next(flow)
            while True:
                attempt = flow.send(self._try(attempt))
        except StopIteration as done:
            value: T = done.value
            return value

    def _try(self, attempt: Attempt) -> Reply | Failure:
        import httpx

        if attempt.after:
            self._sleep(attempt.after)
        content = bytearray()
        try:
            with self._http.stream(**self._connection.request(attempt)) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if self._settings.clock() > attempt.until:
                        return self._connection.too_late(attempt)
        except httpx.RequestError as error:
            return self._connection.failure(attempt, error)
        return self._connection.reply(attempt, response, bytes(content))


class AsyncClient:
    """The same as `Client` for an event loop: its methods are awaited, `items` with `async for`."""

    def __init__(
        self,
        url: str = LOCAL,
        *,
        key: str | None = None,
        timeout: float = 5.0,
        retries: int | None = None,
        deadline: float = 15.0,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Set where the service is and how patient to be, as for `Client`."""
        require_httpx()
        import httpx

        self._connection = Connection.to(url, key)
        self._settings = RetryPolicy(timeout=timeout, retries=retries, deadline=deadline)
        self._sleep = sleep
        self._http = httpx.AsyncClient(**self._connection.options(), transport=transport)

    recommend = _awaited(operations.recommend)
    recommend_many = _awaited(operations.recommend_many)
    feedback = _awaited(operations.feedback)
    feedback_many = _awaited(operations.feedback_many)
    put_items = _awaited(operations.put_items)
    remove_item = _awaited(operations.remove_item)
    item = _awaited(operations.item)
    user = _awaited(operations.user)
    erase_user = _awaited(operations.erase_user)
    exposure = _awaited(operations.exposure)
    exposure_items = _awaited(operations.exposure_items)
    exposure_history = _awaited(operations.exposure_history)
    policies = _awaited(operations.policies)
    put_policy = _awaited(operations.put_policy)
    choose_version = _awaited(operations.choose_version)
    remove_policy = _awaited(operations.remove_policy)
    shadow = _awaited(operations.shadow)
    put_shadow = _awaited(operations.put_shadow)
    kill_switch = _awaited(operations.kill_switch)
    put_kill_switch = _awaited(operations.put_kill_switch)
    experiments = _awaited(operations.experiments)
    experiment = _awaited(operations.experiment)
    begin_experiment = _awaited(operations.begin_experiment)
    ramp_experiment = _awaited(operations.ramp_experiment)
    stop_experiment = _awaited(operations.stop_experiment)
    resume_experiment = _awaited(operations.resume_experiment)
    end_experiment = _awaited(operations.end_experiment)
    policy = _awaited(operations.policy)
    ready = _awaited(operations.ready)

    async def items(self, *, page: int | None = None) -> AsyncIterator[Item]:
        """Iterate over the catalogue, `page` items a request.

        Items that are removed meanwhile may hide others from it.
        """
        offset: int | None = 0
        while offset is not None:
            items, offset = await self._run(operations.item_page(offset, page))
            for item in items:
                yield item

    async def close(self) -> None:
        """Close the connections; `async with` does so at its end."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.url!r})"

    async def _run(self, steps: Operation[T]) -> T:
        flow = run_operation(steps, self._settings)
        try:
            attempt = next(flow)
            while True:
                attempt = flow.send(await self._try(attempt))
        except StopIteration as done:
            value: T = done.value
            return value

    async def _try(self, attempt: Attempt) -> Reply | Failure:
        import httpx

        if attempt.after:
            await self._sleep(attempt.after)
        content = bytearray()
        try:
            async with self._http.stream(**self._connection.request(attempt)) as response:
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if self._settings.clock() > attempt.until:
                        return self._connection.too_late(attempt)
        except httpx.RequestError as error:
            return self._connection.failure(attempt, error)
        return self._connection.reply(attempt, response, bytes(content))
