"""All pages of a list in one call, requested as the list specifies, from a real server for each style."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.cli import main as cli
from jupyter_funcs.core.warn import MissingRowsWarning
from tests.conftest import wait_until
from tests.panel.page import Page
from tests.servers import serving
from tests.shells import shell_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.requests import Request

TOTAL = 7
SIZE = 3
ROWS = [{"id": f"r{number}", "n": number} for number in range(TOTAL)]
TOKEN = "a-token-of-the-pages"


def number(request: Request, name: str, default: int = 0) -> int:
    return int(request.query_params.get(name, default))


def after(start: int, **more: Any) -> dict[str, Any]:
    return {"items": ROWS[start : start + SIZE], **more}


def by_page(request: Request) -> Any:
    page = number(request, "page", 1)
    return after((page - 1) * SIZE, total=TOTAL, page=page, per_page=SIZE)


def by_page_from_0(request: Request) -> Any:
    page = number(request, "page")
    return {
        "content": ROWS[page * SIZE :][:SIZE],
        "number": page,
        "last": (page + 1) * SIZE >= TOTAL,
    }


def by_offset(request: Request) -> Any:
    offset = number(request, "offset")
    return after(offset, total_count=TOTAL, offset=offset, limit=SIZE)


def by_start_index(request: Request) -> Any:
    start = number(request, "startIndex", 1)
    return {
        "totalResults": TOTAL,
        "startIndex": start,
        "Resources": ROWS[start - 1 :][:SIZE],
    }


def by_start_index_from_0(request: Request) -> Any:
    start = number(request, "StartIndex")
    return after(start, TotalRecordCount=TOTAL, StartIndex=start)


def by_offset_token(request: Request) -> Any:
    start = int(request.query_params.get("offset", "itr/0").removeprefix("itr/"))
    more = {"offset": f"itr/{start + SIZE}"} if start + SIZE < TOTAL else {}
    return {"records": ROWS[start : start + SIZE]} | more


def by_after(request: Request) -> Any:
    start = int(request.query_params.get("after", "t3_0").removeprefix("t3_"))
    following = f"t3_{start + SIZE}" if start + SIZE < TOTAL else None
    listing = {"children": ROWS[start : start + SIZE], "before": None}
    return {"kind": "Listing", "data": listing | {"after": following}}


def by_private_page(request: Request) -> Any:
    page = number(request, "_page", 1)
    return after((page - 1) * SIZE, total=TOTAL, page=page, per_page=SIZE)


def by_page_in_brackets(request: Request) -> Any:
    page = number(request, "page[number]", 1)
    rows = ROWS[(page - 1) * SIZE :][:SIZE]
    meta = {"total-count": TOTAL, "total-pages": 3, "page": page}
    return {"data": rows, "meta": meta}


def by_part_of_an_address(request: Request) -> Any:
    page = number(request, "page[number]", 1)
    following = f"&page%5Bnumber%5D={page + 1}" if page * SIZE < TOTAL else None
    rows = ROWS[(page - 1) * SIZE :][:SIZE]
    return {"data": rows, "links": {"self": "&page%5Bnumber%5D=1", "next": following}}


def by_end_cursor(request: Request) -> Any:
    start = number(request, "page[after]")
    end = start + SIZE
    meta = {"has_more": end < TOTAL, "after_cursor": str(end)}
    return {"tickets": ROWS[start:end], "meta": meta}


def by_start_cursor(request: Request) -> Any:
    start = number(request, "start_cursor")
    following = str(start + SIZE) if start + SIZE < TOTAL else None
    page = {"next_cursor": following, "has_more": following is not None}
    return {"object": "list", "results": ROWS[start : start + SIZE], **page}


def by_named_cursor(request: Request) -> Any:
    start = number(request, "starting_after")
    following = {"page": 2, "starting_after": str(start + SIZE)}
    pages = {"type": "pages", "total_pages": 3}
    if start + SIZE < TOTAL:
        pages["next"] = following
    return {"type": "list", "data": ROWS[start : start + SIZE], "pages": pages}


def by_offset_of_next(request: Request) -> Any:
    start = int(request.query_params.get("offset", "o0").removeprefix("o"))
    following = {"offset": f"o{start + SIZE}"} if start + SIZE < TOTAL else None
    return {"data": ROWS[start : start + SIZE], "next_page": following}


def by_cursor(request: Request) -> Any:
    start = number(request, "cursor")
    following = str(start + SIZE) if start + SIZE < TOTAL else ""
    return {
        "ok": True,
        "channels": ROWS[start : start + SIZE],
        "response_metadata": {"next_cursor": following},
    }


def by_token(request: Request) -> Any:
    start = int(request.query_params.get("pageToken", "t0")[1:])
    more = {"nextPageToken": f"t{start + SIZE}"} if start + SIZE < TOTAL else {}
    return after(start, **more)


def by_last_id(request: Request) -> Any:
    ids = [row["id"] for row in ROWS]
    start = (
        ids.index(request.query_params["starting_after"]) + 1
        if "starting_after" in request.query_params
        else 0
    )
    return {
        "object": "list",
        "data": ROWS[start : start + SIZE],
        "has_more": start + SIZE < TOTAL,
    }


def by_link(request: Request) -> Any:
    start = number(request, "from")
    return after(
        start, next=str(request.url.include_query_params(**{"from": start + SIZE}))
    ) | ({} if start + SIZE < TOTAL else {"next": None})


def by_relative_link(request: Request) -> Any:
    start = number(request, "skip")
    links = {
        "self": {"href": "x"},
        "next": {"href": f"{request.url.path}?skip={start + SIZE}"},
    }
    links |= {} if start + SIZE < TOTAL else {"next": {}}
    return {"_embedded": {"orders": ROWS[start : start + SIZE]}, "_links": links}


def by_header(request: Request) -> Any:
    page = number(request, "p", 1)
    link = f'<{request.url.include_query_params(p=page + 1)}>; rel="next"'
    headers = {"link": link} if page * SIZE < TOTAL else {"link": '<x>; rel="first"'}
    return JSONResponse(ROWS[(page - 1) * SIZE :][:SIZE], headers=headers)


def by_range(request: Request) -> Any:
    start = number(request, "offset")
    rows = ROWS[start : start + SIZE]
    extent = f"items {start}-{start + len(rows) - 1}/{TOTAL}"
    return JSONResponse(rows, status_code=206, headers={"content-range": extent})


def by_link_and_count(request: Request) -> Any:
    start = number(request, "$skip")
    link = request.url.include_query_params(**{"$skip": start + SIZE})
    more = {"@odata.nextLink": str(link)} if start + SIZE < TOTAL else {}
    return {"@odata.count": TOTAL, "value": ROWS[start : start + SIZE]} | more


def by_transfer_limit(request: Request) -> Any:
    start = number(request, "resultOffset")
    more = {"exceededTransferLimit": True} if start + SIZE < TOTAL else {}
    return {"features": ROWS[start : start + SIZE], "properties": more}


def by_last_key(request: Request) -> Any:
    start = number(request, "number")
    more = {"LastEvaluatedKey": {"number": start + SIZE}}
    return {"Items": ROWS[start : start + SIZE]} | (
        more if start + SIZE < TOTAL else {}
    )


def by_key_of_text(request: Request) -> Any:
    start = int(request.query_params.get("ExclusiveStartKey", "k0")[1:])
    more = {"LastEvaluatedKey": f"k{start + SIZE}"} if start + SIZE < TOTAL else {}
    return {"Items": ROWS[start : start + SIZE]} | more


def by_next_start(request: Request) -> Any:
    start = number(request, "start")
    following = start + SIZE if start + SIZE < TOTAL else None
    page = {"isLastPage": following is None, "nextPageStart": following}
    return {"values": ROWS[start : start + SIZE], "start": start, **page}


def by_marker(request: Request) -> Any:
    start = number(request, "Marker")
    more = {"IsTruncated": True, "Marker": str(start + SIZE)}
    last = {"IsTruncated": False}
    return {"Users": ROWS[start:][:SIZE]} | (more if start + SIZE < TOTAL else last)


def by_continuation(request: Request) -> Any:
    start = number(request, "continuation-token")
    more = {"NextContinuationToken": str(start + SIZE)}
    return {"Contents": ROWS[start:][:SIZE]} | (more if start + SIZE < TOTAL else {})


def by_page_of_pagination(request: Request) -> Any:
    page = number(request, "pagination[page]", 1)
    meta = {"pagination": {"page": page, "pageCount": 3, "total": TOTAL}}
    return {"data": ROWS[(page - 1) * SIZE :][:SIZE], "meta": meta}


def by_skip_count(request: Request) -> Any:
    start = number(request, "SkipCount")
    return {"orders": ROWS[start : start + SIZE], "total_orders": TOTAL}


def by_counted_header(request: Request) -> Any:
    rows = ROWS[(number(request, "page", 1) - 1) * SIZE :][:SIZE]
    return JSONResponse(rows, headers={"x-wp-total": str(TOTAL)})


def by_events(request: Request) -> Any:
    start = int(request.query_params.get("pageToken", "t0")[1:])
    more = {"nextPageToken": f"t{start + SIZE}"} if start + SIZE < TOTAL else {}
    about = {"kind": "calendar#events", "description": "d", "updated": "2026-01-01"}
    return about | after(start, **more)


STYLES: dict[str, tuple[Callable[[Request], Any], str, str]] = {
    "link_and_count": (by_link_and_count, "$skip", "integer"),
    "transfer_limit": (by_transfer_limit, "resultOffset", "integer"),
    "last_key": (by_last_key, "ExclusiveStartKey", "object"),
    "key_of_text": (by_key_of_text, "ExclusiveStartKey", "object"),
    "next_start": (by_next_start, "start", "integer"),
    "marker": (by_marker, "Marker", "string"),
    "continuation": (by_continuation, "continuation-token", "string"),
    "page_of_pagination": (by_page_of_pagination, "pagination[page]", "integer"),
    "skip_count": (by_skip_count, "SkipCount", "integer"),
    "counted_header": (by_counted_header, "page", "integer"),
    "events": (by_events, "pageToken", "string"),
    "page": (by_page, "page", "integer"),
    "page_from_0": (by_page_from_0, "page", "integer from 0"),
    "offset": (by_offset, "offset", "integer"),
    "start_index": (by_start_index, "startIndex", "integer"),
    "start_index_from_0": (by_start_index_from_0, "StartIndex", "integer"),
    "offset_token": (by_offset_token, "offset", "string"),
    "after": (by_after, "after", "string"),
    "private_page": (by_private_page, "_page", "integer"),
    "page_in_brackets": (by_page_in_brackets, "page[number]", "integer"),
    "part_of_an_address": (by_part_of_an_address, "page[number]", "integer"),
    "end_cursor": (by_end_cursor, "page[after]", "string"),
    "start_cursor": (by_start_cursor, "start_cursor", "string"),
    "named_cursor": (by_named_cursor, "starting_after", "string"),
    "offset_of_next": (by_offset_of_next, "offset", "string"),
    "cursor": (by_cursor, "cursor", "string"),
    "token": (by_token, "pageToken", "string"),
    "last_id": (by_last_id, "starting_after", "string"),
    "link": (by_link, "", ""),
    "relative_link": (by_relative_link, "", ""),
    "header": (by_header, "", ""),
    "range": (by_range, "offset", "integer"),
}


# Lists whose pages lead nowhere.


def in_a_circle(request: Request) -> Any:
    start = number(request, "cursor")
    return after(start, next_cursor={0: "3", 3: "6", 6: "0"}[start])


def its_own_next(request: Request) -> Any:
    return after(number(request, "cursor"), next_cursor="3")


def the_same(_: Request) -> Any:
    return after(0, has_more=True)


def another_shape(request: Request) -> Any:
    return (
        after(0, total=TOTAL)
        if number(request, "page", 1) == 1
        else {"error": {"code": 3}}
    )


def elsewhere(_: Request) -> Any:
    return after(0, next="https://evil.example/items?from=3")


def shrinking(request: Request) -> Any:
    return after(
        0 if number(request, "page", 1) == 1 else TOTAL, total=TOTAL, has_more=True
    )


def failing(request: Request) -> Any:
    if number(request, "page", 1) == 2:
        return Response("no disk", status_code=500)
    return by_page(request)


def unnamed(_: Request) -> Any:
    return after(0, total=TOTAL)


BROKEN: dict[str, tuple[Callable[[Request], Any], str, str, int]] = {
    "in_a_circle": (in_a_circle, "cursor", "the same page came again", 7),
    "its_own_next": (
        its_own_next,
        "cursor",
        "a page names an earlier one as its next",
        6,
    ),
    "the_same": (the_same, "page", "the same page came again", 3),
    "another_shape": (another_shape, "page", "the next page has another shape", 3),
    "elsewhere": (
        elsewhere,
        "",
        "The next page is at another address, 'https://evil.example/items?from=3'",
        3,
    ),
    "failing": (failing, "page", "page 2 failed", 3),
    "unnamed": (unnamed, "", "no parameter asks for the next page ('total')", 3),
}


SINGLE: dict[str, tuple[Any, str, list[Any]]] = {
    "a_csv": (Response("n\n1\n2\n", media_type="text/csv"), "csv", [1, 2]),
    "a_text": (Response("done", media_type="text/plain"), "text", ["done"]),
    "lines": (
        Response('{"n": 1}\n{"n": 2}\n', media_type="application/x-ndjson"),
        "lines",
        [1, 2],
    ),
    "declared": (
        {"schema": {"n": {"type": "int32"}}, "data": [{"n": 1}]},
        "schema",
        [1],
    ),
    "split": ({"columns": ["n"], "data": [[1], [2]]}, "split", [1, 2]),
    "a_record": ({"n": 1, "id": 7}, "record", [1]),
    "a_whole_list": ({"items": [{"n": 1}], "next": None}, "page", [1]),
}


class Lists:
    """The lists as a service with an OpenAPI document, which notes the requested addresses."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        answers = {name: row[0] for name, row in STYLES.items()} | {
            name: row[0] for name, row in BROKEN.items()
        }
        answers["shrinking"] = shrinking
        answers |= {
            name: functools.partial(lambda reply, _: reply, row[0])
            for name, row in SINGLE.items()
        }
        params = {name: row[1:3] for name, row in STYLES.items()} | {
            name: (row[1], "") for name, row in BROKEN.items()
        }
        params |= dict.fromkeys(["shrinking", *SINGLE], ("page", ""))
        self.document = {
            "openapi": "3.1.0",
            "info": {"title": "Lists", "version": "1"},
            "paths": {
                f"/{name}": {"get": self._operation(name, *params[name])}
                for name in answers
            },
        }
        self.answers = answers
        self.app = Starlette(
            routes=[
                Route("/openapi.json", self._describe),
                *(Route(f"/{name}", self._answer) for name in answers),
            ]
        )

    @staticmethod
    def _operation(name: str, param: str, kind: str) -> dict[str, Any]:
        word, _, start = kind.partition(" from ")
        schema: dict[str, Any] = {"type": word or "string"} | (
            {"minimum": int(start)} if start else {}
        )
        params = [{"name": param, "in": "query", "schema": schema}] if param else []
        return {
            "operationId": name,
            "parameters": params,
            "responses": {"200": {"description": ""}},
        }

    def _describe(self, _: Request) -> Response:
        return JSONResponse(self.document)

    def _answer(self, request: Request) -> Response:
        self.asked.append(str(request.url))
        reply = self.answers[request.url.path.strip("/")](request)
        return reply if isinstance(reply, Response) else JSONResponse(reply)


@pytest.fixture(scope="module")
def lists() -> Lists:
    return Lists()


@pytest.fixture(scope="module")
def session(lists: Lists) -> Iterator[Any]:
    with serving(lists.app) as url:
        session = jf.connect(f"{url}/openapi.json", token=TOKEN)
        yield session
        session.close()


def all_of(session: Any, name: str, **options: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = session[name].with_options(pages="all", **{"cache": False, **options})()
    return frame, [
        str(warning.message)
        for warning in caught
        if warning.category is MissingRowsWarning
    ]


@pytest.mark.parametrize("name", STYLES)
def test_all_pages_are_one_table(session: Any, name: str) -> None:
    """By page numbers from 1 or 0, offsets, cursors, tokens, the last row, links in the body and headers."""
    frame, told = all_of(session, name)
    assert told == []
    assert frame["n"].tolist() == [*range(TOTAL)]
    assert frame.attrs["funcs"]["pages"] == 3


@pytest.mark.parametrize("name", STYLES)
def test_one_page_says_how_to_get_all(session: Any, name: str) -> None:
    with pytest.warns(
        MissingRowsWarning, match=r'with_options\(pages="all"\), or --all'
    ):
        assert len(session[name]()) == SIZE


@pytest.mark.parametrize("name", SINGLE)
def test_a_reply_that_is_no_page_or_the_only_one_is_read_like_any_other(
    session: Any, name: str
) -> None:
    frame, told = all_of(session, name)
    assert told == []
    assert frame.attrs["funcs"]["shape"] == SINGLE[name][1]
    assert frame.iloc[:, 0].tolist() == SINGLE[name][2]


@pytest.mark.fault(159)
@pytest.mark.parametrize("name", BROKEN)
def test_what_leads_nowhere_ends_with_a_note_and_the_rows_so_far(
    session: Any, lists: Lists, name: str
) -> None:
    """Circles, a repeated page, another shape, another origin, a failure, no way to request the next page."""
    lists.asked.clear()
    frame, [told] = all_of(session, name)
    assert BROKEN[name][2] in told
    assert f"The table has {BROKEN[name][3]} rows." in told
    assert len(frame) == BROKEN[name][3]
    assert len(lists.asked) < 6


@pytest.mark.fault(159)
def test_an_empty_page_is_the_last_one(session: Any) -> None:
    frame, told = all_of(session, "shrinking")
    assert (len(frame), told) == (SIZE, [])


def test_the_number_of_pages_is_bounded(session: Any) -> None:
    frame, [told] = all_of(session, "page", most_pages=2)
    assert len(frame) == 2 * SIZE
    assert "there are more than most_pages = 2 pages" in told
    for wrong in (0, 10_001, True):
        with pytest.raises(
            jf.ArgumentError, match="most_pages takes a number from 1 to 10,000"
        ):
            session["page"].with_options(most_pages=wrong)
    with pytest.raises(jf.ArgumentError, match='pages takes "all" or None'):
        session["page"].with_options(pages="some")


def test_an_interrupted_run_goes_on_and_an_ended_one_begins_again(
    session: Any, lists: Lists
) -> None:
    """From the pages in the cache, unless the cache is off."""
    frame, told = all_of(session, "failing", cache=None)
    assert (len(frame), len(told)) == (SIZE, 1)
    lists.answers["failing"] = by_page
    lists.asked.clear()
    frame, told = all_of(session, "failing", cache=None)
    assert (len(frame), told) == (TOTAL, [])
    assert [url.rpartition("?")[2] for url in lists.asked] == ["page=2", "page=3"]
    for cache in (None, False):
        lists.asked.clear()
        all_of(session, "failing", cache=cache)
        assert len(lists.asked) == 3
    lists.answers["failing"] = failing


def test_a_line_and_a_command_ask_for_all_pages(
    session: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    with shell_with(session) as shell:
        assert len(shell.run_line_magic("funcs", "call offset --all")) == TOTAL
    monkeypatch.setattr(cli, "_session", lambda _: session)
    assert cli.main(["call", "offset", "--all", "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("\n") == TOTAL + 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_panel_gets_all_rows_of_what_it_shows(session: Any) -> None:
    """The button beside the warning runs the function again, with the arguments of the result."""
    page = Page(session["offset"].panel())
    page.run()
    assert len(page.panel.result(30)) == SIZE
    assert page.state("_run")["more"]
    page.ask("all_pages")
    assert len(page.panel.result(30)) == TOTAL
    code = {block["name"]: block["code"] for block in page.ask("code")["blocks"]}
    assert code["magic"].endswith("= %funcs call offset --all")
    assert code["python"].endswith('= funcs.offset.with_options(pages="all")()')
    assert "curl" not in code
    wait_until(lambda: not page.state("_run")["more"])
    run = page.state("_run")
    assert run["warnings"] == []
    assert run["result"]["noJson"] == "The result has several replies, one per page."


def test_a_sweep_and_a_cached_run_have_all_pages(session: Any, lists: Lists) -> None:
    """All pages and the first page are different results."""
    swept = (
        session["page"]
        .with_options(pages="all", cache=False, progress=False)
        .sweep(page=[1, 2])
    )
    assert len(swept) == TOTAL + (TOTAL - SIZE)
    function = session["offset"].with_options(cache=True)
    with pytest.warns(MissingRowsWarning):
        assert len(function()) == SIZE
    assert len(function.with_options(pages="all")()) == TOTAL
    lists.asked.clear()
    assert len(function.with_options(pages="all")()) == TOTAL
    assert lists.asked == []


def test_a_sweep_over_pages_writes_all_rows_into_a_folder(
    session: Any, tmp_path: Path
) -> None:
    swept = session["offset"].with_options(
        pages="all", cache=False, progress=False, to=tmp_path / "out"
    )
    dataset = swept.sweep(offset=[0, SIZE])
    assert sorted(dataset.to_table()["n"].to_pylist()) == sorted(
        [*range(TOTAL), *range(SIZE, TOTAL)]
    )


def test_a_run_of_the_history_is_repeated_with_all_its_pages(
    session: Any, lists: Lists
) -> None:
    session["offset"].with_options(pages="all", cache=False)()
    [*_, run] = session.history.runs
    lists.asked.clear()
    assert len(session.history.again(run.number)) == TOTAL
    assert len(lists.asked) == 3


# Declared parameters, where the reply says less


def told_from_0(request: Request) -> Any:
    page = number(request, "page")
    return after(page * SIZE, page=page, total=TOTAL)


def numbered_from_0(request: Request) -> Any:
    page = number(request, "page")
    return {
        "content": ROWS[page * SIZE :][:SIZE],
        "number": page,
        "totalElements": TOTAL,
    }


def skipping(request: Request) -> Any:
    start = number(request, "skip")
    return ROWS[start : start + number(request, "limit", SIZE)]


def paging(request: Request) -> Any:
    return ROWS[(number(request, "page", 1) - 1) * SIZE :][:SIZE]


def by_dollars(request: Request) -> Any:
    start = number(request, "$offset")
    return ROWS[start : start + number(request, "$limit", SIZE)]


def beside_a_status(request: Request) -> Any:
    return {"status": "ok", "data": skipping(request)}


def of_unknown_size(request: Request) -> Any:
    if rows := paging(request):
        return rows
    return Response("no such page", status_code=404)


def the_first_only(_: Request) -> Any:
    return ROWS


def from_day(request: Request) -> Any:
    return after(0, total=TOTAL, begins=request.query_params.get("start"))


def lacking(request: Request) -> Any:
    return after(number(request, "offset"), total=TOTAL + 3, offset=0)


INTEGER = {"type": "integer"}
LIMIT = {"limit": INTEGER | {"default": SIZE}}
DECLARED: dict[str, tuple[Callable[[Request], Any], dict[str, Any]]] = {
    "told_from_0": (told_from_0, {"page": INTEGER}),
    "numbered_from_0": (numbered_from_0, {"page": INTEGER}),
    "skipping": (skipping, {"skip": INTEGER | {"default": 0}, **LIMIT}),
    "paging": (paging, {"page": INTEGER, "per_page": INTEGER | {"default": SIZE}}),
    "by_dollars": (
        by_dollars,
        {"$limit": INTEGER | {"default": SIZE}, "$offset": INTEGER},
    ),
    "beside_a_status": (beside_a_status, {"skip": INTEGER, **LIMIT}),
    "of_unknown_size": (of_unknown_size, {"page": INTEGER}),
    "the_first_only": (the_first_only, {"page": INTEGER}),
    "from_day": (from_day, {"start": {"type": "string"}, **LIMIT}),
    "lacking": (lacking, {"offset": INTEGER}),
}


@pytest.fixture(scope="module")
def declared() -> Iterator[Any]:
    def operation(name: str) -> dict[str, Any]:
        params = [
            {"name": param, "in": "query", "schema": schema}
            for param, schema in DECLARED[name][1].items()
        ]
        responses = {"200": {"description": ""}}
        return {"operationId": name, "parameters": params, "responses": responses}

    document = {
        "openapi": "3.1.0",
        "info": {"title": "Lists", "version": "1"},
        "paths": {f"/{name}": {"get": operation(name)} for name in DECLARED},
    }

    def answer(request: Request) -> Response:
        name = request.url.path.strip("/")
        if name == "openapi.json":
            return JSONResponse(document)
        body = DECLARED[name][0](request)
        return body if isinstance(body, Response) else JSONResponse(body)

    with serving(Starlette(routes=[Route("/{name}", answer)])) as url:
        session = jf.connect(f"{url}/openapi.json")
        yield session
        session.close()


@pytest.mark.parametrize("name", ["told_from_0", "numbered_from_0"])
def test_the_number_that_a_page_says_leads_to_the_next(
    declared: Any, name: str
) -> None:
    """Pages that count from 0 are all requested, though no parameter says so."""
    frame, told = all_of(declared, name)
    assert (frame["n"].tolist(), told) == ([*range(TOTAL)], [])


@pytest.mark.parametrize(
    "name",
    [
        "skipping",
        "paging",
        "by_dollars",
        "beside_a_status",
        "of_unknown_size",
        "the_first_only",
    ],
)
def test_a_full_page_of_a_plain_list_leads_to_the_next(
    declared: Any, name: str
) -> None:
    """
    Its size is the argument or the declared default; one that isn't full is the last.

    Where nothing tells the size, a page number leads on until a page is empty, missing or the same.
    """
    frame, told = all_of(declared, name)
    assert (frame["n"].tolist(), told) == ([*range(TOTAL)], [])


def test_a_size_that_is_asked_for_is_the_size_of_a_page(declared: Any) -> None:
    run = declared["skipping"].with_options(pages="all", cache=False)
    for limit, pages in ((2, 4), (7, 2)):
        frame = run(limit=limit)
        assert frame["n"].tolist() == [*range(TOTAL)]
        assert frame.attrs["funcs"]["pages"] == pages
    assert len(run(limit=10)) == TOTAL
    assert run(skip=4)["n"].tolist() == [4, 5, 6]


def test_a_parameter_for_a_day_takes_no_number_of_rows(declared: Any) -> None:
    run = declared["from_day"].with_options(pages="all", cache=False)
    with pytest.warns(MissingRowsWarning, match="no parameter asks for the next page"):
        run(start="2020-06-01")
    with pytest.warns(MissingRowsWarning, match="no parameter asks for the next page"):
        run()


def test_fewer_rows_than_the_service_counts_are_told(declared: Any) -> None:
    frame, [told] = all_of(declared, "lacking")
    assert len(frame) == TOTAL
    assert "the service counts 10. The table has 7 rows." in told
    run = declared["lacking"].with_options(pages="all", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingRowsWarning)
        assert run(offset=3)["n"].tolist() == [3, 4, 5, 6]
