"""The items that can be recommended."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import JSONRoute, json_response, no_content
from faircascade.service.http.path_parameters import ItemPath
from faircascade.service.http.responses import ALWAYS, STORE, WRITING, problem_responses
from faircascade.service.http.schemas import (
    Item,
    ItemBatch,
    ItemBody,
    ItemPage,
    ItemsChanged,
    Paging,
)
from faircascade.service.messages import ItemChange, Reason, Refused
from faircascade.service.service import Service
from faircascade.service.stores.base import StoredItem

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["items"])


@router.get(
    "/items",
    operation_id="listItems",
    summary="List the catalogue",
    response_model=ItemPage,
    response_description="A page of items, those that came first first.",
    responses=problem_responses(*ALWAYS, 422),
)
async def list_items(request: Request, paging: Annotated[Paging, Query()]) -> Response:
    """Return the items that can be recommended, some at a time."""
    deps = dependencies_of(request)
    async with deps.page:
        catalogue = deps.service.catalogue
        rows = range(len(catalogue))[paging.offset : paging.offset + paging.limit]
        items = [_document(catalogue.item(row), catalogue.dim) for row in rows]
        return json_response({"total": len(catalogue), "items": items})


@router.post(
    "/items",
    operation_id="putItems",
    summary="Add or replace items",
    response_model=ItemsChanged,
    response_description="All of them are in the catalogue now.",
    responses=problem_responses(*ALWAYS, *WRITING, *STORE, 409),
)
async def put_items(request: Request, body: ItemBatch) -> Response:
    """Add items, or give existing ones new features; all of them or, on an error, none.

    Other fields that are left out stay as they were; an empty group or supplier removes the label.
    """
    service = dependencies_of(request).service
    await service.put_items([_change(one.item, one) for one in body.items])
    changed = len({one.item for one in body.items})
    return json_response({"changed": changed, "total": len(service.catalogue)})


@router.get(
    "/items/{item:path}",
    operation_id="getItem",
    summary="Get an item",
    response_model=Item,
    response_description="The item.",
    responses=problem_responses(*ALWAYS, 404, 422),
)
async def get_item(request: Request, item: ItemPath) -> Response:
    """Return an item of the catalogue."""
    service = dependencies_of(request).service
    return json_response(_document(_known(service, item), service.dim))


@router.put(
    "/items/{item:path}",
    operation_id="putItem",
    summary="Add or replace an item",
    response_model=Item,
    response_description="The item as it is now.",
    responses={
        201: {"model": Item, "description": "The item is new."},
        **problem_responses(*ALWAYS, *WRITING, *STORE, 409),
    },
)
async def put_item(request: Request, body: ItemBody, item: ItemPath) -> Response:
    """Add an item, or give it new features.

    Other fields that are left out stay as they were; an empty group or supplier removes the label.
    An item that was removed comes back with its exposure, and nothing else of its old state.
    """
    service = dependencies_of(request).service
    new = service.catalogue.at(item) is None
    await service.put_items([_change(item, body)])
    return json_response(_document(_known(service, item), service.dim), 201 if new else 200)


@router.delete(
    "/items/{item:path}",
    operation_id="removeItem",
    summary="Remove an item",
    status_code=204,
    response_description="It will not be recommended any more.",
    responses=problem_responses(*ALWAYS, *STORE, 403, 404, 409, 422),
)
async def remove_item(request: Request, item: ItemPath) -> Response:
    """Remove an item from the catalogue. Slates that show it can still be answered."""
    await dependencies_of(request).service.remove_item(item)
    return no_content()


def _change(name: str, body: ItemBody) -> ItemChange:
    return ItemChange(
        item=name,
        features=body.features,
        merit=body.merit,
        popularity=body.popularity,
        group=body.group,
        supplier=body.supplier,
        topics=body.topics,
        attributes=body.attributes,
    )


def _known(service: Service, name: str) -> StoredItem:
    found = service.catalogue.at(name)
    if found is None:
        raise Refused(Reason.UNKNOWN, "item", f"{name!r} is not in the catalogue")
    return found


def _document(item: StoredItem, dim: int) -> dict[str, Any]:
    """Return `Item` of the API, which has `dim` features."""
    return {
        "item": item.id,
        "features": item.features[:dim],
        "topics": item.features[dim:],
        "merit": item.merit,
        "popularity": item.popularity,
        "group": item.groups.get("group"),
        "supplier": item.groups.get("supplier"),
        "attributes": item.attributes,
    }
