"""The application: one factory, usable behind a server and in a test's own process."""

from __future__ import annotations

import secrets
from asyncio import Lock
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from weakref import WeakValueDictionary

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from api.cascade.stages import Stages, stages_of
from api.core.errors import MethodError, NotFoundError, ProblemError
from api.core.metrics import Metrics
from api.core.notify import Notifier
from api.core.settings import Settings
from api.http import (
    audit,
    blame,
    curriculum,
    episode_lists,
    episodes,
    groups,
    hints,
    operations,
    proposals,
    reading,
    rescores,
    reward_model,
    rewards,
    rubrics,
    sandboxes,
    score,
    segments,
    start_states,
    steps,
    streams,
    task_drafts,
    tasks,
)
from api.http.adapters import nemo, openenv, openrlhf, ors, ors_groups, slime
from api.http.document import Documented
from api.http.queries import read_query_names
from api.http.support import PROBLEM, invalid_parameters
from api.pages import audit as audit_page
from api.pages import compare, conditions, editor, exports, fleet, label, listing, training, viewer
from api.pages import episode as episode_page
from api.pages import replay as replay_page
from api.pages import task as task_page
from api.pages.problems import told_as_page
from api.service.container import Parts
from api.tasks.plugins import load_plugins

VERSION = version("milestoned")
log = structlog.get_logger()


def create_app(settings: Settings, stages: Stages | None = None) -> FastAPI:
    """The service over ``settings``; its lifespan upgrades the schema and opens the database.

    ``stages``: instead of those that the settings name. Raises `StageError` for one that can't be
    had, `PlugInError` for a rule of others that is refused.
    """
    load_plugins()
    asked = stages_of(settings.stages) if stages is None else stages
    notifier = Notifier()
    metrics = Metrics(lambda: notifier.waiting)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        parts = Parts.build(settings, notifier, metrics, asked)
        try:
            await parts.start()
            app.state.parts = parts
            yield
        finally:
            await parts.stop()

    app = Documented(
        title="milestoned",
        version=VERSION,
        description="Step by step, what a computer-use agent's work was worth, and why.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.notifier = notifier
    app.state.metrics = metrics
    app.state.off = tuple(asked.off.values())
    intents: WeakValueDictionary[str, Lock] = WeakValueDictionary()
    app.state.intents = intents
    # Routes are tried in order: those that are called most come first. They are the application's
    # own: a router that is included is made anew for each application, and asked as a whole by each
    # request before its routes are.
    for noun in (
        rewards,
        segments,
        steps,
        score,
        groups,
        reward_model,
        rubrics,
        task_drafts,
        proposals,
        openrlhf,
        slime,
        nemo,
        openenv,
        ors,
        ors_groups,
        episodes,
        episode_lists,
        blame,
        hints,
        curriculum,
        start_states,
        reading,
        streams,
        audit,
        rescores,
        sandboxes,
        tasks,
        operations,
    ):
        app.router.routes.extend(noun.router.routes)
    # The list's file has a path that an episode could have: it comes first.
    for pages in (
        exports,
        listing,
        episode_page,
        conditions,
        replay_page,
        fleet,
        compare,
        task_page,
        editor,
        training,
        label,
        audit_page,
        viewer,
    ):
        app.router.routes.extend(pages.router.routes)
    app.state.query_names = read_query_names(app.router.routes)
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(Exception, _unhandled)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    """Answer an error of ours: as a page where a browser asks for one, else as a problem of RFC
    9457; each is counted by its name."""
    assert isinstance(error, ProblemError)
    request.app.state.metrics.refusals.labels(error.slug).inc()
    return told_as_page(request, error) or Response(
        error.body(), error.status, error.headers, PROBLEM
    )


async def _http(request: Request, error: Exception) -> Response:
    """Answer what routing itself refuses, a path or a method, as a problem of ours."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        problem: ProblemError = MethodError(
            f"{request.method} {request.url.path}: wanted {allowed}", allowed=allowed
        )
    elif error.status_code == 404:
        problem = NotFoundError(f"{request.method} {request.url.path}: there is no such path")
    else:
        problem = ProblemError(str(error.detail))
    response = await _problem(request, problem)
    response.headers.update(error.headers or {})
    return response


async def _validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return await _problem(request, invalid_parameters(error.errors()))


async def _unhandled(request: Request, error: Exception) -> Response:
    incident = f"err_{secrets.token_hex(8)}"
    log.error(
        "A request failed unexpectedly.", incident=incident, path=request.url.path, exc_info=error
    )
    return await _problem(
        request,
        ProblemError(f"unexpected; the service's log has it as {incident}", incident=incident),
    )
