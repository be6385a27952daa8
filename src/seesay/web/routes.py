"""The HTTP API: the verbs of `seesay.library.Library` and of the models, each under its own address."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Path as PathParameter

from seesay.errors import SeesayError
from seesay.library.ranking.likeness import Box, Crop, find_photo
from seesay.library.ranking.search import SORTS
from seesay.library.types import Filter, Photo
from seesay.web import answers
from seesay.web.lanes import Amount, BusyError
from seesay.web.photos import SIDES, check_version, draw_photo, version_of
from seesay.web.queries import LARGEST_ID, Exactly, Page, Text, Texts, read_crop, read_where
from seesay.web.service import Question, Service

if TYPE_CHECKING:
    from seesay.captioning.sentences import Caption

LARGEST_UPLOAD = 32 * 1024 * 1024
SLOWEST_UPLOAD, FIRST_SECONDS = 32 * 1024, 10.0
"""Bytes a second that an uploaded photo has to come with on average, from so many seconds on."""

_SORTS = f"^({'|'.join(SORTS)})$"
_FOR_EVER = "private, max-age=31536000, immutable"
_ASK_AGAIN = "private, no-cache"
_JPEG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/jpeg": {}}}}
_GONE: dict[int | str, dict[str, Any]] = {status: {"model": answers.ErrorAnswer} for status in (404, 409)}
_IMAGE = {"image/*": {"schema": {"type": "string", "format": "binary"}}}

PhotoId = Annotated[int, PathParameter(ge=1, le=LARGEST_ID)]
PhotoIds = Annotated[
    list[Annotated[int, Query(ge=1, le=LARGEST_ID)]],
    Query(max_length=4, description="Photos of the library, by id, that the results are to be like."),
]
Version = Annotated[str, Query(max_length=100, description="The version of the image, as answers give it.")]
Region = Annotated[Box | None, Depends(read_crop)]
Paging = Annotated[Page, Depends()]
Where = Annotated[Filter, Depends(read_where)]


def read_question(
    where: Where,
    page: Paging,
    q: Text = "",
    plus: Texts = [],  # noqa: B006 - FastAPI reads it and nobody changes it, here and below
    minus: Texts = [],  # noqa: B006
    sort: Annotated[str, Query(pattern=_SORTS)] = SORTS[0],
    exact: Exactly = False,
) -> Question:
    """What a visitor searches for."""
    return Question(q, plus, minus, where, sort, page, exact)


Asked = Annotated[Question, Depends(read_question)]


def search_routes(service: Service) -> APIRouter:
    routes = APIRouter(tags=["search"])

    @routes.get("/search", responses=_GONE)
    async def search(asked: Asked, region: Region, like: PhotoIds = []) -> answers.SearchAnswer:  # noqa: B006
        """The photos that fit a sentence, or are like photos of the library, or like a crop of one; best first."""
        if region and like:
            return await service.explanations.run(service.search, asked, [Crop(photo_id, region) for photo_id in like])
        return await service.searching.run(service.search, asked, like)

    @routes.get("/regions", responses=_GONE)
    async def search_regions(
        where: Where,
        page: Paging,
        q: Text,
        sort: Annotated[str, Query(pattern=_SORTS)] = SORTS[0],
        exact: Exactly = False,
    ) -> answers.SearchAnswer:
        """The photos that show something in one of their regions, with the box of where that is; best first."""
        return await service.searching.run(service.search_regions, Question(q, (), (), where, sort, page, exact))

    @routes.post("/search", openapi_extra={"requestBody": {"required": True, "content": _IMAGE}})
    async def search_by_photo(request: Request, asked: Asked) -> answers.SearchAnswer:
        """The photos that are like the one in the body, which is not kept; best first."""
        photo = await _receive(request, service.arriving)

        def answer() -> answers.SearchAnswer:
            try:
                return service.search(asked, [photo])
            finally:
                service.arriving.remove(len(photo))

        try:
            return await service.explanations.run(answer)
        except BusyError:  # it has not even begun
            service.arriving.remove(len(photo))
            raise

    return routes


async def _receive(request: Request, arriving: Amount) -> bytes:
    """The body of a request, as long as it is not too large, keeps coming, and there is room for it.

    Whoever uses it takes it off what is arriving: until then it is in memory.
    """
    content = bytearray()
    start = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(FIRST_SECONDS) as waiting:
            async for chunk in request.stream():
                arriving.add(len(chunk))
                content += chunk
                if len(content) > LARGEST_UPLOAD:
                    raise SeesayError("the photo is too large", allowed=f"up to {LARGEST_UPLOAD:,} bytes")
                waiting.reschedule(start + FIRST_SECONDS + len(content) / SLOWEST_UPLOAD)
    except BaseException as error:
        arriving.remove(len(content))
        if not isinstance(error, TimeoutError):
            raise
        raise SeesayError("the photo comes too slowly", allowed=f"{SLOWEST_UPLOAD:,} bytes a second") from error
    if not content:
        raise SeesayError("there is no photo in the request", allowed="the bytes of an image as its body")
    return bytes(content)


def _already_there(request: Request, photo: Photo, v: str) -> Response | None:
    """The answer to a browser that has a photo's image; None where it has not."""
    check_version(photo, v)
    headers = _cache_headers(photo, v)
    return (
        Response(status_code=304, headers=headers) if request.headers.get("if-none-match") == headers["etag"] else None
    )


def _image(photo: Photo, v: str, jpeg: bytes) -> Response:
    return Response(jpeg, media_type="image/jpeg", headers=_cache_headers(photo, v))


def _cache_headers(photo: Photo, v: str) -> dict[str, str]:
    """An address that says which image it is of may be kept; one that names an id may mean another one next time."""
    version = version_of(photo)
    return {"cache-control": _FOR_EVER if v == version else _ASK_AGAIN, "etag": f'"{version}"'}


def photo_routes(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/photos", tags=["photos"])
    library = service.library

    @routes.get("")
    async def latest(where: Where, page: Paging) -> answers.PhotosAnswer:
        """The photos of the latest dates."""
        photos = await service.searching.run(library.latest, page.limit + 1, skip=page.offset, where=where)
        return answers.PhotosAnswer(
            photos=[answers.PhotoAnswer.of(photo) for photo in photos[: page.limit]],
            next=page.next_after(page.offset + len(photos)),
        )

    @routes.get("/{photo_id}", responses=_GONE)
    async def photo(photo_id: PhotoId) -> answers.PhotoDetails:
        """A photo by its id."""
        found = await service.searching.run(find_photo, library.store, photo_id)
        tags = await service.searching.run(library.store.tags, [found.content])
        return answers.PhotoDetails.with_tags(found, tags.get(found.content, ()))

    @routes.get("/{photo_id}/thumbnail", response_class=Response, responses={**_GONE, **_JPEG})
    async def thumbnail(request: Request, photo_id: PhotoId, v: Version = "") -> Response:
        """A photo's small JPEG, without metadata."""
        found = await service.searching.run(find_photo, library.store, photo_id)
        if (known := _already_there(request, found, v)) is not None:
            return known
        jpeg = await service.searching.run(library.thumbnail, photo_id)
        return _image(found, v, jpeg or b"")

    @routes.get("/{photo_id}/picture", response_class=Response, responses={**_GONE, **_JPEG})
    async def picture(
        request: Request,
        photo_id: PhotoId,
        side: Annotated[int, Query(ge=SIDES[0], le=SIDES[1])] = 1600,
        v: Version = "",
    ) -> Response:
        """A photo as a JPEG of at most `side` pixels, upright, without metadata."""
        found = await service.searching.run(find_photo, library.store, photo_id)
        if (known := _already_there(request, found, v)) is not None:
            return known
        return _image(found, v, await service.drawing.run(draw_photo, found, side))

    @routes.get("/{photo_id}/captions", responses=_GONE)
    async def caption(photo_id: PhotoId, n: Annotated[int, Query(ge=1, le=10)] = 5) -> answers.CaptionsAnswer:
        """Sentences about a photo, the best first."""
        found = await service.searching.run(find_photo, library.store, photo_id)
        model, captions = await service.explanations.run(service.models.captions, found, n)
        rows = [_caption(each) for each in captions]
        return answers.CaptionsAnswer(model=model, captions=rows)

    @routes.get("/{photo_id}/explain", responses=_GONE)
    async def explain(photo_id: PhotoId, q: Text) -> answers.ExplainAnswer:
        """The region of a photo that each word of a sentence refers to, and how likely the photo shows it."""
        found = await service.searching.run(find_photo, library.store, photo_id)
        judged = await service.searching.run(service.judge, found, q)
        words = await service.explanations.run(service.models.explain, found, q)
        rows = [answers.WordAnswer.of(word) for word in words]
        return answers.ExplainAnswer(query=q, words=rows, **judged.model_dump())

    return routes


def _caption(caption: "Caption") -> answers.CaptionAnswer:
    return answers.CaptionAnswer(text=caption.text, log_prob=round(caption.log_prob, 4), unsure=caption.is_unsure)


def library_routes(service: Service) -> APIRouter:
    routes = APIRouter(tags=["library"])

    @routes.get("/status")
    async def status() -> answers.StatusAnswer:
        """What the library holds, and how far indexing is."""
        return await service.searching.run(service.status)

    @routes.get("/examples")
    async def examples() -> list[str]:
        """A few queries that this library can answer."""
        return await service.searching.run(service.examples)

    @routes.post("/index", status_code=202)
    async def index() -> answers.IndexingAnswer:
        """Bring the library up to date with its folders, in the background; `status` tells how far that is."""
        service.indexer.ask()
        return answers.IndexingAnswer.of(service.indexer.progress)

    @routes.get("/failures")
    async def failures() -> list[answers.FailureAnswer]:
        """Files that could not be used, with the reasons."""
        return [answers.FailureAnswer.of(failure) for failure in await service.searching.run(service.library.failures)]

    return routes
