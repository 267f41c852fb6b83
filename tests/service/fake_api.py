"""A service for tests of the pages: the real models and static files, made-up numbers."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from faircascade.metrics.exposure import evenness
from faircascade.service.http import schemas

STATIC = Path(str(files("faircascade.service.http"))) / "static"
POLICY_OF_PAGES = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
KEY = "right-key"
NASTY = """<img src=x onerror="document.title='taken'"><b>bold</b>"""
"""A name of an item that is dangerous where it is taken for HTML."""
TURNED = "song\u202e3pm.\u2066exe"
"""A name that would turn the text around it, and look like another one."""
ITEMS = 2810
STEPS = {"1h": (60, 60), "24h": (1800, 48), "7d": (21600, 28)}
"""Seconds of a step, steps."""
OLD = timedelta(days=31, hours=5)
SLATES = {"1h": 4_212, "24h": 96_480, "7d": 688_146, "all": 1_204_377}


@dataclass
class Mood:
    """How the fake answers; a test changes it while the page is open."""

    state: Literal["busy", "empty", "even", "trouble", "half", "unauthorised"] = "busy"
    age: timedelta = OLD
    """How long ago the first slate was."""
    clicks: int = 1
    """How many clicks a slate has that has any."""
    began_late: bool = False
    """Whether the first step with slates has a tenth of what it should have."""
    kill_switch: str | None = None
    may_change: bool = True
    """Whether the key may turn the kill switch."""
    asked: list[str] = field(default_factory=list)
    """Paths with queries, in the order in which they came."""


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _window(name: str, now: datetime, age: timedelta | None) -> schemas.Window:
    if name == "all":
        since = None if age is None else _iso(now - age)
        return schemas.Window(name=name, since=since, until=_iso(now))
    seconds, steps = STEPS[name]
    start = (int(now.timestamp()) // seconds - steps + 1) * seconds
    return schemas.Window(
        name=name, since=_iso(datetime.fromtimestamp(start, UTC)), until=_iso(now)
    )


def _fairness(exposure: np.ndarray[Any, Any], merit: np.ndarray[Any, Any]) -> dict[str, Any]:
    even, per_merit = evenness(exposure), evenness(exposure / merit)
    return {
        "equality_b": min(1.0, even * 1.1),
        "equality_p": even,
        "equity_b": min(1.0, per_merit * 1.1),
        "equity_p": per_merit,
        "coverage": float((exposure > 0).mean()),
    }


def _holder(
    name: str, exposure: float, merit: float, clicks: int, items: int = 1
) -> schemas.Recipient:
    return schemas.Recipient(
        name=name,
        items=items,
        appearances=int(exposure * 2e6),
        exposure=exposure * 1e6,
        handed_out=int(exposure * 2.1e6),
        exposure_handed_out=exposure * 1.02e6,
        clicks=clicks,
        exposure_share=exposure,
        merit_share=merit,
        ratio=exposure / merit,
    )


def exposure(window: str, limit: int, now: datetime, mood: Mood | None = None) -> schemas.Exposure:
    """Return exposure that a few popular items have most of."""
    mood = mood or Mood()
    state, age, empty = mood.state, mood.age, mood.state == "empty"
    rng = np.random.default_rng(7)
    shown = 1 / (1 + np.arange(ITEMS)) ** 0.85 * (rng.random(ITEMS) < 0.82)
    merit = rng.gamma(4.0, size=ITEMS)
    shown, merit = shown / shown.sum(), merit / merit.sum()
    names = [f"song-{number}" for number in rng.permutation(ITEMS) + 1]
    order = np.argsort(-shown / merit)
    names[order[1]] = NASTY
    names[order[3]] = TURNED
    names[order[2]] = "A very long title of a song that goes on and on, live at the harbour, 1971"
    share = np.linspace(0, 1, 101)

    def lorenz(values: np.ndarray[Any, Any]) -> list[float] | None:
        sums = np.concatenate([[0], np.cumsum(np.sort(values))]) / values.sum()
        return None if empty else np.interp(share * ITEMS, np.arange(ITEMS + 1), sums).tolist()

    def items(chosen: np.ndarray[Any, Any]) -> list[schemas.Recipient]:
        slates = SLATES[window]
        return [
            _holder(names[n], float(shown[n]), float(merit[n]), int(shown[n] * slates * 0.31))
            for n in chosen[:limit]
        ]

    slates = 0 if empty else SLATES[window]
    answers = round(slates * 0.83)
    return schemas.Exposure(
        window=_window(window, now, None if empty else age),
        recommendations=slates,
        answers=answers,
        clicks=mood.clicks * round(answers * 0.37),
        clicked=round(answers * 0.37),
        click_rate=None if empty else mood.clicks * round(answers * 0.37) / answers,
        no_clicks=slates // 100,
        positions=10 * slates,
        positions_shown=9 * slates,
        items=ITEMS,
        fairness=dict.fromkeys(_fairness(shown, merit)) if empty else _fairness(shown, merit),
        lorenz=schemas.LorenzCurve(
            items=share.tolist(),
            exposure_b=lorenz(shown),
            exposure_p=lorenz(shown),
            exposure_pm=lorenz(shown / merit),
        ),
        over_exposed=[] if empty or state == "even" else items(order),
        under_exposed=[] if empty or state == "even" else items(order[::-1]),
        groups=[] if empty else recipients("group")[:limit],
        suppliers=[] if empty else recipients("supplier")[:limit],
    )


NAMES = {
    "group": ["jazz", "rock", "pop", "folk", "<i>classical</i>", "electronic"],
    "supplier": ["blue", "northern sound", "harbour", *(f"studio {n}" for n in range(4, 25))],
}


def recipients(by: str) -> list[schemas.Recipient]:
    """Return groups or suppliers, most exposed first."""
    names = NAMES[by]
    shares = 0.7 ** np.arange(len(names))
    return [
        _holder(name, float(share), 1 / len(names), int(share * 20_000), items=400 + 17 * n)
        for n, (name, share) in enumerate(zip(names, shares / shares.sum(), strict=True))
    ]


def history(window: str, now: datetime, mood: Mood) -> schemas.History:
    """Return a day's rhythm, a policy that learns, and an hour's outage."""
    seconds, steps = STEPS[window]
    first = int(now.timestamp()) // seconds - steps + 1
    moments = []
    for n in range(steps):
        rng = np.random.default_rng(n)
        since = datetime.fromtimestamp((first + n) * seconds, UTC)
        until = min(since + timedelta(seconds=seconds), now)
        rhythm = 1 + 0.55 * np.sin(2 * np.pi * (since.timestamp() / 86_400 - 0.35))
        slates = int(SLATES[window] / steps * rhythm * (0.9 + 0.2 * rng.random()))
        silent = mood.state == "empty" or n in (7, 8) or until <= now - mood.age
        slates = 0 if silent else int(slates * (until - since).total_seconds() / seconds)
        if mood.began_late and not any(moment.recommendations for moment in moments):
            slates //= 10
        learned = 0.3 + 0.09 * (1 - np.exp(-n / 12)) + 0.012 * rng.standard_normal()
        answers = int(slates * 0.83)
        even = 0.31 + 0.12 * n / steps + 0.01 * rng.standard_normal()
        fairness = {
            "equality_b": even * 1.1,
            "equality_p": even,
            "equity_b": even * 0.9,
            "equity_p": even * 0.82 + 0.006 * rng.standard_normal(),
            "coverage": 0.62 + 0.1 * n / steps + 0.01 * rng.standard_normal(),
        }
        moments.append(
            schemas.Moment(
                since=_iso(since),
                until=_iso(until),
                recommendations=slates,
                answers=answers,
                clicks=mood.clicks * int(answers * learned),
                clicked=int(answers * learned),
                click_rate=mood.clicks * int(answers * learned) / answers if answers else None,
                no_clicks=slates // 100,
                positions=10 * slates,
                positions_shown=9 * slates,
                fairness=fairness if slates else {**dict.fromkeys(fairness), "coverage": 0.0},
            )
        )
    return schemas.History(
        window=_window(window, now, mood.age), step_seconds=seconds, moments=moments
    )


POLICY = schemas.PolicyDescription(
    name="ealinucb",
    label="EALinUCB log",
    version="8c1f0e2a9b3d",
    parameters={
        "ridge": 1.0,
        "sigma": 1.0,
        "reading": "paper",
        "alpha": 0.25,
        "reranker": {"name": "identity"},
        "weight": "log",
        "beta": None,
        "gamma": 0.0,
    },
)


def lineup(mood: Mood) -> dict[str, Any]:
    """Return what is served: two policies, of which one has a dangerous change."""
    found = example(schemas.Lineup)
    first = found["policies"][0]
    now = datetime.now(UTC)
    changes = [
        {"time": _iso(now - timedelta(days=90)), "text": NASTY},
        {"time": _iso(now - timedelta(minutes=20)), "text": "default is <b>new</b>"},
    ]
    return found | {
        "kill_switch": mood.kill_switch,
        "experiment": None if mood.state == "empty" else "fairer-home",
        "policies": [first, first | {"name": "fairer", "shadow_share": 0.1}],
        "may_change": mood.may_change,
        "changes": changes,
    }


def experiment(now: datetime) -> dict[str, Any]:
    """Return an experiment that was ramped once, with an interval that closes in on its value."""
    found = example(schemas.Experiment)
    looks: list[list[dict[str, Any]]] = [[], []]
    for n in range(40):
        rng, half = np.random.default_rng(n), 24 / np.sqrt(1 + n)
        differences = {
            measure: {
                **found["comparisons"]["fairer"][measure],
                "value_percent": value + half * rng.standard_normal() / 4,
                "low_percent": value - half,
                "high_percent": value + half,
            }
            for measure, value in (("clicks_per_slate", -1.5), ("equality_p", 20.0))
        }
        looks[n // 20].append(
            {
                "time": _iso(now - timedelta(minutes=5 * (40 - n))),
                "slates": 1_000 * n,
                "mismatch": False,
                "comparisons": {"fairer": differences},
            }
        )
    first, second = looks
    periods = [{"since": one[0]["time"], "shares": found["shares"], "looks": one} for one in looks]
    change = {"time": second[0]["time"], "text": "fairer-home: default 0.5, fairer 0.5"}
    began = {"time": first[0]["time"], "text": "fairer-home begins: default 0.1, fairer 0.1"}
    comparisons = {
        measure: {**said, **second[-1]["comparisons"]["fairer"].get(measure, {})}
        for measure, said in found["comparisons"]["fairer"].items()
    }
    comparisons["clicks_per_slate"] |= {"answer": "open", "text": "keep running: 9,000 more slates"}
    return found | {
        "since": first[0]["time"],
        "counted_since": second[0]["time"],
        "comparisons": {"fairer": comparisons},
        "periods": periods,
        "changes": [began, change],
    }


def example(model: Any) -> dict[str, Any]:
    """Return the first example of a schema."""
    return dict(model.model_config["json_schema_extra"]["examples"][0])


def _problem(status: int, title: str, detail: str) -> JSONResponse:
    problem = schemas.Problem(title=title, status=status, detail=detail)
    return JSONResponse(
        problem.model_dump(), status_code=status, media_type="application/problem+json"
    )


def create(mood: Mood) -> FastAPI:
    """Return the application."""
    app = FastAPI(title="faircascade", version="0.1.0", docs_url=None, redoc_url=None)

    @app.middleware("http")
    async def guard(
        request: Request, proceed: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        path = request.url.path
        mood.asked.append(f"{path}?{request.url.query}" if request.url.query else path)
        if path.startswith("/v1/"):
            if mood.state == "trouble":
                return _problem(503, "Service Unavailable", "the store cannot be reached")
            key = request.headers.get("authorization")
            if mood.state == "unauthorised" and key != f"Bearer {KEY}":
                return _problem(401, "Unauthorized", "Give a key that this service knows")
        response = await proceed(request)
        response.headers["content-security-policy"] = POLICY_OF_PAGES
        response.headers["x-content-type-options"] = "nosniff"
        return response

    @app.get("/", include_in_schema=False)
    async def dashboard() -> FileResponse:
        return FileResponse(STATIC / "dashboard.html")

    @app.get("/docs", include_in_schema=False)
    async def reference() -> FileResponse:
        return FileResponse(STATIC / "reference.html")

    @app.get("/v1/exposure", tags=["exposure"], summary="Who has had what exposure")
    async def get_exposure(
        window: Literal["all", "1h", "24h", "7d"] = "all",
        limit: int = Query(10, ge=1, le=100, description="Items in each list."),
    ) -> schemas.Exposure:
        return exposure(window, limit, datetime.now(UTC), mood)

    @app.get("/v1/exposure/items", tags=["exposure"], summary="The exposure of everybody")
    async def get_holders(
        by: Literal["group", "supplier"],
        window: Literal["all", "1h", "24h", "7d"] = "24h",
        limit: int = Query(100, ge=1, le=1000),
    ) -> schemas.ItemExposure:
        found = sorted(recipients(by), key=lambda recipient: recipient.name)
        shown = _window(window, datetime.now(UTC), mood.age)
        return schemas.ItemExposure(window=shown, total=len(found), items=found[:limit])

    @app.get("/v1/exposure/history", tags=["exposure"], summary="The same over time")
    async def get_history(window: Literal["1h", "24h", "7d"] = "24h") -> schemas.History:
        return history(window, datetime.now(UTC), mood)

    @app.get("/v1/policies", include_in_schema=False)
    async def get_policies() -> dict[str, Any]:
        return lineup(mood)

    @app.get("/v1/experiments/{name}", include_in_schema=False)
    async def get_experiment(name: str) -> dict[str, Any]:
        return experiment(datetime.now(UTC))

    @app.put("/v1/kill-switch", include_in_schema=False)
    async def put_kill_switch(body: schemas.KillSwitch) -> Any:
        if not mood.may_change:
            return _problem(403, "Forbidden", "the key may not change policies")
        mood.kill_switch = body.policy
        return body

    @app.get("/v1/exposure/find", include_in_schema=False)
    async def find_items(
        prefix: str, window: Literal["all", "1h", "24h", "7d"] = "24h", limit: int = 20
    ) -> schemas.FoundItems:
        shown = exposure(window, 100, datetime.now(UTC), mood).over_exposed
        found = [one for one in shown if one.name.startswith(prefix)]
        labels = {"merit": 1.0, "popularity": 0.0, "group": "<i>jazz</i>", "supplier": None}
        return schemas.FoundItems(
            window=_window(window, datetime.now(UTC), mood.age),
            total=len(found),
            items=[schemas.FoundItem(**one.model_dump(), **labels) for one in found[:limit]],
        )

    @app.get("/v1/exposure/export", include_in_schema=False)
    async def export(by: str, window: str, format: str) -> Response:
        return Response(f"{by},{window},{format}\r\n", media_type="text/csv")

    @app.get("/v1/users/{user}", include_in_schema=False)
    async def get_user(user: str) -> Response:
        if mood.state == "unauthorised":
            return _problem(403, "Forbidden", "the key may only read, and not read users")
        if user != "ann":
            return _problem(404, "Not Found", "user: is not known")
        shown = schemas.UserImpression(
            impression_id="1-a",
            time=_iso(datetime.now(UTC)),
            items=["song-1", NASTY],
            user_labels={},
            answered=True,
            clicked_position=2,
            clicked_positions=[2],
            shown=2,
            values=[],
            default=False,
        )
        known = schemas.User(
            user=user,
            recommendations=1_200,
            feedback=7,
            preferences=[0.6, 0.8],
            impressions_kept=1,
            impressions=[shown],
        )
        return JSONResponse(known.model_dump())

    @app.get("/v1/traffic", include_in_schema=False)
    async def get_traffic(window: Literal["1h", "24h", "7d"] = "24h") -> schemas.Traffic:
        past = history(window, datetime.now(UTC), mood)
        moments = [
            schemas.TrafficMoment(
                since=moment.since,
                until=moment.until,
                recommendations=moment.recommendations,
                feedback=moment.answers,
                other=moment.recommendations // 10,
                errors=moment.recommendations // 200,
                refused=0,
                seconds=schemas.Seconds(p50=0.004, p99=0.03) if moment.recommendations else None,
            )
            for moment in past.moments
        ]
        return schemas.Traffic(window=past.window, step_seconds=past.step_seconds, moments=moments)

    @app.get("/v1/store", include_in_schema=False)
    async def get_store() -> Response:
        if mood.state == "half":
            return _problem(503, "Service Unavailable", "the store is being looked for")
        health = schemas.StoreHealth(
            kind="sqlite",
            status="ok",
            seconds=0.0042,
            data_bytes=12_345_678,
            log_bytes=None,
            counts_behind_seconds=0.2,
            durability=None,
            workers=2,
        )
        return JSONResponse(health.model_dump())

    @app.get("/v1/policy", tags=["service"], summary="What ranks the slates")
    async def get_policy() -> schemas.PolicyDescription:
        return POLICY

    @app.post(
        "/v1/recommendations",
        tags=["recommending"],
        summary="Rank a slate for a user",
        responses={409: {"model": schemas.Problem}, 503: {"model": schemas.Problem}},
    )
    async def recommend(request: schemas.RecommendationRequest) -> schemas.Recommendation:
        """Choose the best `k` items for a user and remember what was shown.

        Send the `impression_id` back with the feedback:

        - within the time that slates are kept;
        - once, or again with the same answer.
        """
        raise NotImplementedError

    @app.post("/v1/feedback/batch", tags=["learning"], summary="Learn from many answers")
    async def learn(request: schemas.FeedbackBatch) -> schemas.FeedbackResults:
        raise NotImplementedError

    @app.put("/v1/items/{item:path}", tags=["catalogue"], summary="Add or change an item")
    async def put_item(item: str, body: schemas.ItemBody) -> schemas.Item:
        raise NotImplementedError

    @app.delete("/v1/users/{user:path}", tags=["users"], status_code=204, summary="Forget a user")
    async def forget(user: str) -> None:
        raise NotImplementedError

    app.mount("/static", StaticFiles(directory=STATIC))
    return app


class Fake:
    """The application under a real server, which can be stopped and started at one address."""

    def __init__(self) -> None:
        self.mood = Mood()
        self._app = create(self.mood)
        self._port = 0
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Serve at the address of before, or at any."""
        config = uvicorn.Config(
            self._app, port=self._port, log_level="critical", lifespan="off", ws="none"
        )
        socket = config.bind_socket()
        self._port = socket.getsockname()[1]
        self._server = uvicorn.Server(config)
        run = self._server.run
        self._thread = threading.Thread(target=run, kwargs={"sockets": [socket]}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port, and return when it is closed."""
        self._server.should_exit = True
        self._thread.join(timeout=10)


@contextmanager
def serving() -> Iterator[Fake]:
    """Serve while the context is open."""
    fake = Fake()
    try:
        yield fake
    finally:
        fake.stop()
