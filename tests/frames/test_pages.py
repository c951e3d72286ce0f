"""The rows of any API's replies are found by structure, and a warning says if a page isn't all of them."""

from __future__ import annotations

import json
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from jupyter_funcs.core.warn import MissingRowsWarning
from jupyter_funcs.frames.diff import diff
from jupyter_funcs.frames.export import save
from jupyter_funcs.frames.frame import ALL_PAGES, page_to_frame, to_frame
from tests.growth import assert_linear

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"n": 1, "v": 5}, {"n": 2, "v": 6}]
NO_HEADERS: dict[str, str] = {}


def read(
    document: Any, headers: dict[str, str] = NO_HEADERS
) -> tuple[pd.DataFrame, list[str]]:
    """Return the frame of a reply without an envelope, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = page_to_frame(
            json.dumps(document).encode(), headers, schema=None, lines=False
        )
    return frame, [str(warning.message) for warning in caught]


def told_of_more(document: Any, headers: dict[str, str] = NO_HEADERS) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        page_to_frame(json.dumps(document).encode(), headers, schema=None, lines=False)
    return [
        str(warning.message)
        for warning in caught
        if warning.category is MissingRowsWarning
    ]


PAGES: dict[str, Any] = {
    "alone": {"pets": ROWS},
    "in properties alone": {"properties": {"entries": ROWS}},
    "in properties beside a null link": {
        "properties": {"entries": ROWS},
        "nextLink": None,
    },
    "beside a total": {"total_count": 2, "workflow_runs": ROWS},
    "beside status words": {
        "ok": True,
        "status": "OK",
        "request_id": "x",
        "copyright": "c",
        "channels": ROWS,
    },
    "beside empty lists": {"data": ROWS, "errors": [], "warnings": []},
    "beside nulls": {"count": 2, "next": None, "previous": None, "results": ROWS},
    "beside lists of texts": {"schemas": ["urn:x"], "Resources": ROWS},
    "Google": {
        "kind": "drive#fileList",
        "etag": "e",
        "incompleteSearch": False,
        "files": ROWS,
    },
    "Google, with a description": {
        "kind": "calendar#events",
        "description": "d",
        "updated": "2026-01-01",
        "items": ROWS,
    },
    "two levels down": {"status": "success", "data": {"items": ROWS}},
    "three levels down": {"response": {"body": {"stations": ROWS}}},
    "HAL": {
        "_embedded": {"orders": ROWS},
        "_links": {"self": {"href": "u"}},
        "page": {"size": 2, "totalElements": 2},
    },
    "JSON:API": {
        "data": ROWS,
        "included": [{"id": 9}],
        "links": {"next": None},
        "jsonapi": {"version": "1.0"},
    },
    "Elasticsearch": {
        "took": 1,
        "_shards": {"total": 1},
        "hits": {"total": {"value": 2}, "hits": ROWS},
    },
    "DynamoDB": {"Items": ROWS, "Count": 2, "ScannedCount": 2},
    "GeoJSON": {"type": "FeatureCollection", "features": ROWS, "bbox": [1, 2, 3, 4]},
    "World Bank": [{"page": 1, "pages": 1, "per_page": "50", "total": 2}, ROWS],
    "facets, as many as rows": {"results": ROWS, "facets": [{"f": 1}, {"f": 2}]},
    "links as a list": {"links": [{"rel": "self", "href": "a"}], "records": ROWS},
    "error messages": {
        "Count": 2,
        "ErrorMessages": [{"text": "t"}] * 2,
        "Result": ROWS,
    },
    "names of the columns": {
        "fields": [{"name": "n"}, {"name": "v"}],
        "data": [[1, 5], [2, 6]],
    },
    "names of the columns elsewhere": {
        "resultSetMetaData": {"numRows": 2, "rowType": [{"name": "n"}, {"name": "v"}]},
        "data": [[1, 5], [2, 6]],
    },
    "names of the columns at another depth": {
        "manifest": {"schema": {"columns": [{"name": "n"}, {"name": "v"}]}},
        "result": {"row_count": 2, "data_array": [[1, 5], [2, 6]]},
    },
    "names of the columns of one thing": {
        "dataset": {"id": 1, "column_names": ["n", "v"], "data": [[1, 5], [2, 6]]}
    },
    "the longest of several": {"lines": ROWS, "notes": [{"t": 1}]},
    "several, and a count": {
        "result_count": 2,
        "images": ROWS,
        "related_searches": [{"q": "a"}, {"q": "b"}],
    },
}


@pytest.mark.parametrize("document", PAGES.values(), ids=PAGES)
def test_the_list_of_objects_is_the_table(document: Any) -> None:
    """Whatever its name, at any of three levels, and beside what the page says about itself."""
    frame, _ = read(document)
    assert frame.to_dict("list") == {"n": [1, 2], "v": [5, 6]}
    assert frame.attrs["funcs"]["shape"] == "page"


RECORDS: dict[str, Any] = {
    "an identity": {"id": 7, "total": 9, "lines": ROWS},
    "an identity above": {"uuid": "u", "data": {"lines": ROWS}},
    "two particulars": {"name": "x", "description": "d", "variants": ROWS},
    "the properties of one thing": {"etag": "e", "properties": {"rules": ROWS}},
    "objects": {"billing": {"city": "A"}, "shipping": {"city": "B"}},
    "lists of one length and one meaning": {"genders": ROWS, "accents": ROWS},
    "errors beside data": {"data": {"text": "t"}, "errors": [{"code": 1}]},
    "lists of values": {"a": [1, 2], "b": [1]},
    "four levels down": {"a": {"b": {"c": {"d": ROWS}}}},
}


@pytest.mark.parametrize("document", RECORDS.values(), ids=RECORDS)
def test_a_record_is_one_row_with_dotted_columns(document: dict[str, Any]) -> None:
    """Its lists are parts of the object, and nothing is lost."""
    frame, told = read(document)
    assert (len(frame), told) == (1, [])
    assert {name.partition(".")[0] for name in frame.columns} == set(document)


def test_lists_beside_their_times_are_columns() -> None:
    """As weather services answer, with the units beside the rows."""
    hourly = {"time": ["2026-01-01T00:00", "2026-01-01T01:00"], "rain": [0.5, 1.5]}
    units = {"time": "iso8601", "rain": "mm"}
    document = {"latitude": 52.5, "hourly_units": units, "hourly": hourly}
    frame, told = read(document)
    assert frame["rain"].tolist() == [0.5, 1.5]
    assert str(frame["time"].dtype) == "datetime64[us]"
    assert (told, frame.attrs["funcs"]["page"]["hourly_units"]) == ([], units)
    daily = {"time": ["2026-01-01"] * 3, "rain": [1, 2, 3]}
    frame, [told_of_hourly] = read({**document, "daily": daily})
    assert len(frame) == 3
    assert "'hourly' (2 rows)" in told_of_hourly


@pytest.mark.parametrize(
    "lists",
    [
        {"time": [1, 2], "rain": [1]},
        {"first": [1, 2], "second": [3, 4]},
        {"time": [1], "rain": [2]},
        {"time": [1, 2], "rain": [[1], [2]]},
        {"time": [1, 2], "unit": "mm"},
    ],
)
def test_other_lists_in_an_object_are_parts_of_a_record(lists: Any) -> None:
    assert len(read({"place": {"city": "A"}, "series": lists})[0]) == 1


def cube(value: Any, **more: Any) -> dict[str, Any]:
    geo = {"category": {"index": {"FR": 1, "DE": 0}, "label": {"DE": "Germany"}}}
    time = {"category": {"index": ["2020", "2021"]}}
    unit = {"category": {"label": {"EUR": "Euro"}}}
    dimension = {"geo": geo, "time": time, "unit": unit}
    about = {"version": "2.0", "class": "dataset", "id": ["geo", "time", "unit"]}
    return {**about, "size": [2, 2, 1], "dimension": dimension, "value": value, **more}


def test_the_values_of_json_stat_have_the_categories_of_their_dimensions() -> None:
    """The values are a list, or a dictionary of some of them by position."""
    frame, told = read(cube([1.5, None, 3, 4]))
    assert [*frame] == ["geo", "time", "unit", "value"]
    assert frame["geo"].tolist() == ["DE", "DE", "FR", "FR"]
    assert frame["time"].astype(str).str[:4].tolist() == ["2020", "2021"] * 2
    assert frame["value"].tolist()[2:] == [3, 4]
    assert "dimension" in frame.attrs["funcs"]["page"]
    assert told == []
    frame, _ = read(cube({"0": 1, "3": 4}))
    assert frame[["geo", "value"]].to_numpy().tolist() == [["DE", 1], ["FR", 4]]


@pytest.mark.parametrize(
    "wrong", [{"size": [2]}, {"value": {"9": 1}}, {"dimension": {}}]
)
def test_what_is_no_json_stat_stays_a_record(wrong: Any) -> None:
    frame, _ = read({**cube([1, 2, 3, 4]), **wrong})
    assert len(frame) == 1


def test_objects_by_days_numbers_or_codes_are_rows_and_the_key_is_the_first_column() -> (
    None
):
    days = {"2026-01-02": {"open": 1.5}, "2026-01-05": {"open": 2.5}}
    for document in (
        days,
        {"Meta Data": {"Symbol": "IBM"}, "Time Series (Daily)": days},
    ):
        frame, _ = read(document)
        assert [str(day)[:10] for day in frame["key"]] == [*days]
        assert frame["open"].tolist() == [1.5, 2.5]
    assert read({"AAPL": {"p": 1}, "MSFT": {"p": 2}})[0].to_dict("list") == {
        "key": ["AAPL", "MSFT"],
        "p": [1, 2],
    }
    assert read({f"key {word}": {"p": 1} for word in "abcdefghijk"})[0].shape == (11, 2)


def test_what_pandas_writes_by_column_is_still_read_by_column() -> None:
    assert read({"Spend": {"0": 1, "1": 2}, "FQ": {"0": "a", "1": "b"}})[0].shape == (
        2,
        2,
    )
    assert read({"FQ": {"0": 1, "1": 2}, "PQ": {"0": 3, "1": 4}})[0]["FQ"].tolist() == [
        1,
        2,
    ]
    assert (
        read({"columns": ["n"], "index": [0, 1], "data": [[1], [2]]})[0].attrs["funcs"][
            "shape"
        ]
        == "split"
    )


def test_the_observations_of_sdmx_have_the_values_of_their_dimensions() -> None:
    def dimension(name: str, *values: str) -> dict[str, Any]:
        return {
            "id": name,
            "values": [{"id": value, "name": value} for value in values],
        }

    series = {
        "0:0": {"attributes": [0], "observations": {"0": [1.5, 0], "1": [2.5]}},
        "0:1": {"observations": {}},
    }
    dimensions = {
        "series": [dimension("FREQ", "D"), dimension("CURRENCY", "USD", "CHF")]
    }
    dimensions["observation"] = [dimension("TIME_PERIOD", "2026-01-01", "2026-01-02")]
    document = {
        "header": {"id": "x"},
        "dataSets": [{"series": series}],
        "structure": {"dimensions": dimensions},
    }
    for reply in (document, {"meta": {}, "data": document}):
        frame, _ = read(reply)
        assert [*frame.columns] == ["FREQ", "CURRENCY", "TIME_PERIOD", "value"]
        assert frame["value"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("name", ["items", "value", "accounts"])
def test_a_page_without_rows_is_an_empty_table(name: str) -> None:
    frame, told = read({"total": 0, name: [], "next": None})
    assert (frame.shape, told) == ((0, 0), [])
    assert frame.attrs["funcs"]["page"] == {"total": 0, "next": None}


LINKS = [{"rel": "self", "href": "u", "type": "application/json"}]
NO_ROWS: dict[str, Any] = {
    "beside links": {"jobs": [], "links": LINKS},
    "after links": {"links": LINKS, "jobs": []},
    "beside one link": {"resourceType": "Bundle", "link": LINKS, "entry": []},
    "beside included": {"data": [], "included": [{"id": 1}]},
    "beside errors": {"data": [], "errors": [{"message": "m"}]},
    "beside empty lists": {"orders": [], "errors": [], "warnings": []},
    "beside a status": {"ok": True, "channels": [], "response_metadata": {"c": ""}},
    "beside messages": {"records": [], "messages": [{"text": "none"}]},
    "beside facets": {"hits": [], "facets": [{"name": "a", "count": 1}]},
    "beside names of columns": {"columns": [{"name": "n"}], "rows": []},
    "beside an order": {"sort": [{"property": "id"}], "content": []},
    "GeoJSON": {"type": "FeatureCollection", "features": [], "bbox": [1, 2, 3, 4]},
    "SCIM": {"schemas": ["urn:x"], "totalResults": 0, "Resources": []},
    "beside what was asked, and a total": {"query": {"q": "x"}, "total": 0, "docs": []},
    "beside what is suggested instead": {
        "results": [],
        "total": 0,
        "suggestions": [{"text": "a"}, {"text": "b"}],
    },
}


@pytest.mark.parametrize("document", NO_ROWS.values(), ids=NO_ROWS)
def test_what_stands_beside_no_rows_is_not_the_table(document: Any) -> None:
    """A search that finds nothing is an empty table, whatever else its reply has."""
    frame, _ = read(document)
    assert len(frame) == 0
    assert frame.attrs["funcs"]["shape"] == "page"


LISTS_OF_A_RECORD: dict[str, Any] = {
    "none of two": {"orders": [], "returns": [], "shop": "s"},
    "a text beside": {"tags": ["a"], "orders": []},
    "an object beside": {"shop": {"city": "A"}, "values": []},
    "numbers beside": {"symbol": "X", "price": 5.0, "splits": []},
    "a flag beside": {"a": 1, "b": [], "c": False},
    "numbers beside, one level down": {"file": {"length": 5, "tags": []}},
    "one thing": {"id": 7, "total": 0, "lines": []},
}


@pytest.mark.parametrize("document", LISTS_OF_A_RECORD.values(), ids=LISTS_OF_A_RECORD)
def test_an_empty_list_of_a_record_is_a_part_of_it(document: Any) -> None:
    assert len(read(document)[0]) == 1


def test_rows_beside_a_count_of_something_else_are_the_table() -> None:
    for document in ({"orders": ROWS}, {"orders": ROWS, "tags": []}):
        assert len(read({"count": 0, **document})[0]) == 2


def test_the_names_of_columns_are_not_told_as_another_list() -> None:
    """The other properties of the rows stay beside the table."""
    columns = [{"name": "n", "type": "int"}, {"name": "v", "type": "int"}]
    frame, told = read({"columns": columns, "data": [[1, 5], [2, 6]]})
    assert (frame.to_dict("list"), told) == ({"n": [1, 2], "v": [5, 6]}, [])
    assert frame.attrs["funcs"]["page"] == {"columns": columns}


def test_any_names_do_not_name_columns_elsewhere() -> None:
    frame, _ = read({"tags": {"own": ["a", "b"]}, "points": {"xy": [[1, 2], [3, 4]]}})
    assert [*frame] == ["tags.own", "points.xy"]


def test_a_second_list_is_kept_beside_the_table_and_named_once() -> None:
    document = {
        "data": ROWS,
        "included": [{"id": 9}],
        "meta": {"notices": [{"t": "x"}]},
    }
    frame, [told] = read(document)
    assert frame.attrs["funcs"]["beside"] == {
        "included": [{"id": 9}],
        "meta.notices": [{"t": "x"}],
    }
    assert "'included' (1 row)" in told
    assert "'meta.notices'" in told
    large = {"data": [*ROWS] * 900, "included": [{"text": "x" * 100}] * 1500}
    assert read(large)[0].attrs["funcs"]["beside"] == {"included": "1,500 rows"}


LINK = (
    '<https://a.example/?page=1>; rel="prev", <https://a.example/?page=3>; rel="next"'
)
MORE: dict[str, tuple[Any, dict[str, str]]] = {
    "next": ({"results": ROWS, "next": "https://a.example/?page=2"}, {}),
    "has_more": ({"object": "list", "data": ROWS, "has_more": True}, {}),
    "hasNextPage": ({"data": ROWS, "pageInfo": {"hasNextPage": True, "endCursor": "x"}}, {}),
    "nextPageToken": ({"items": ROWS, "nextPageToken": "x"}, {}),
    "@odata.nextLink": ({"value": ROWS, "@odata.nextLink": "https://a.example/?$skip=2"}, {}),
    "@odata.count": ({"value": ROWS, "@odata.count": 9}, {}),
    "a total": ({"total": 9, "items": ROWS}, {}),
    "a total in meta": ({"data": ROWS, "meta": {"total": 9}}, {}),
    "a total beside the rows": ({"response": {"numFound": 9, "start": 0, "docs": ROWS}}, {}),
    "a total of hits": ({"hits": {"total": {"value": 9, "relation": "eq"}, "hits": ROWS}}, {}),
    "a cursor": ({"ok": True, "channels": ROWS, "response_metadata": {"next_cursor": "abc"}}, {}),
    "a plain cursor": ({"objects": ROWS, "cursor": "x"}, {}),
    "HAL": ({"_embedded": {"orders": ROWS}, "_links": {"next": {"href": "u2"}}}, {}),
    "JSON:API": ({"data": ROWS, "links": {"self": "a", "next": "b"}}, {}),
    "links as a list": ({"items": ROWS, "links": [{"rel": "self", "href": "a"}, {"rel": "next", "href": "b"}]}, {}),
    "FHIR": ({"resourceType": "Bundle", "link": [{"relation": "next", "url": "u"}], "entry": ROWS}, {}),
    "paging.next": ({"data": ROWS, "paging": {"cursors": {"after": "x"}, "next": "https://a.example/"}}, {}),
    "paging.next.after": ({"results": ROWS, "paging": {"next": {"after": "NTI", "link": "?after=NTI"}}}, {}),
    "continue": ({"kind": "PodList", "metadata": {"continue": "abc"}, "items": ROWS}, {}),
    "LastEvaluatedKey": ({"Items": ROWS, "Count": 2, "LastEvaluatedKey": {"id": {"S": "x"}}}, {}),
    "last: false": ({"content": ROWS, "totalPages": 3, "totalElements": 6, "last": False, "number": 0}, {}),
    "done: false": ({"totalSize": 9, "done": False, "nextRecordsUrl": "/x", "records": ROWS}, {}),
    "a page of Spring": ({"content": ROWS, "number": 2, "size": 2, "totalElements": 8, "totalPages": 4}, {}),
    "a page of Spring that counts no pages": ({"content": ROWS, "number": 2, "size": 2, "totalElements": 8}, {}),
    "a full page": ({"items": ROWS, "page": 2, "size": 2, "total": 6, "totalPages": 3}, {}),
    "IsTruncated": ({"IsTruncated": True, "Functions": ROWS}, {}),
    "last_page": ({"current_page": 1, "data": ROWS, "last_page": 3}, {}),
    "pages of the World Bank": ([{"page": 1, "pages": 3, "per_page": 2, "total": 6}, ROWS], {}),
    "pages.total_pages": ({"data": ROWS, "total_count": 9, "pages": {"page": 1, "per_page": 2, "total_pages": 5}}, {}),
    "nbPages, from 0": ({"hits": ROWS, "nbHits": 9, "page": 0, "nbPages": 5, "hitsPerPage": 2}, {}),
    "an offset": ({"count": 9, "offset": 0, "limit": 2, "observations": ROWS}, {}),
    "a start index": ({"totalResults": 9, "itemsPerPage": 2, "startIndex": 1, "Resources": ROWS}, {}),
    "a start index from 0": ({"Items": ROWS, "TotalRecordCount": 9, "StartIndex": 0}, {}),
    "names of a vocabulary": ({"hydra:member": ROWS, "hydra:view": {"hydra:next": "/a?page=2"}}, {}),
    "a total of a vocabulary": ({"hydra:member": ROWS, "hydra:totalItems": 9}, {}),
    "__next": ({"d": {"results": ROWS, "__next": "https://a.example/?$skiptoken=2"}}, {}),
    "__count": ({"d": {"results": ROWS, "__count": "9"}}, {}),
    "a total by number": ({"totalNumberOfResults": 9, "results": ROWS}, {}),
    "an estimate": ({"hits": ROWS, "estimatedTotalHits": 9, "limit": 2, "offset": 0}, {}),
    "nhits": ({"nhits": 9, "records": ROWS}, {}),
    "found": ({"found": 9, "page": 1, "hits": ROWS}, {}),
    "a total of results in meta": ({"meta": {"results": {"skip": 0, "limit": 2, "total": 9}}, "results": ROWS}, {}),
    "pagination of one account": ({"Id": "x", "Invoices": ROWS, "pagination": {"page": 1, "pageCount": 3}}, {}),
    "more results": ({"items": ROWS, "moreResultsAvailable": True}, {}),
    "endOfRecords: false": ({"endOfRecords": False, "results": ROWS}, {}),
    "an offset that is a token": ({"records": ROWS, "offset": "itr23sEjsdfEr3282/rec1"}, {}),
    "a bookmark": ({"items": ROWS, "bookmark": "Y2JO"}, {}),
    "before and after": ({"kind": "Listing", "data": {"children": ROWS, "after": "t3_x", "before": None}}, {}),
    "Link": (ROWS, {"link": LINK}),
    "Link of a page": ({"products": ROWS}, {"link": LINK}),
    "X-Total-Count": (ROWS, {"x-total-count": "9"}),
    "X-Total-Pages": (ROWS, {"x-page": "1", "x-total-pages": "2"}),
    "X-Next-Page": (ROWS, {"x-next-page": "2"}),
    "Content-Range": (ROWS, {"content-range": "items 0-1/9", ":status": "206"}),
    "Content-Range without a total": (ROWS, {"content-range": "items 0-1/*"}),
    "206": (ROWS, {":status": "206"}),
    "a transfer limit": ({"features": ROWS, "exceededTransferLimit": True}, {}),
    "a transfer limit in properties": ({"features": ROWS, "properties": {"exceededTransferLimit": True}}, {}),
    "a total of what the rows are": ({"orders": ROWS, "total_orders": 9}, {}),
    "a count of what the rows are": ({"orders": ROWS, "order_count": 9}, {}),
    "a total that is available": ({"pagination": {"totalAvailable": "9"}, "views": {"view": ROWS}}, {}),
    "hits in meta": ({"response": {"docs": ROWS, "meta": {"hits": 9, "offset": 0}}}, {}),
    "a token of the same name": ({"rows": ROWS, "pageToken": "x"}, {}),
    "a cursor mark": ({"hitCount": 9, "nextCursorMark": "AoE", "resultList": {"result": ROWS}}, {}),
    "X-WP-Total": (ROWS, {"x-wp-total": "9"}),
    "X-Total": (ROWS, {"x-total": "9"}),
}  # fmt: skip


@pytest.mark.fault(158)
@pytest.mark.parametrize(("document", "headers"), MORE.values(), ids=MORE)
def test_a_page_says_that_more_rows_follow(
    document: Any, headers: dict[str, str]
) -> None:
    """There is one warning, whether the body or the headers say so."""
    [told] = told_of_more(document, headers)
    assert told.startswith("The reply has 2 ")
    assert told.endswith(ALL_PAGES)


LAST: dict[str, tuple[Any, dict[str, str]]] = {
    "next: null": ({"results": ROWS, "next": None, "previous": "x", "count": 9}, {}),
    "next: empty": ({"items": ROWS, "nextPageToken": ""}, {}),
    "next_cursor: empty": (
        {"ok": True, "channels": ROWS, "response_metadata": {"next_cursor": ""}},
        {},
    ),
    "has_more: false": (
        {"object": "list", "data": ROWS, "has_more": False, "total_count": 9},
        {},
    ),
    "hasNextPage: false": (
        {"data": ROWS, "pageInfo": {"hasNextPage": False, "endCursor": "x"}},
        {},
    ),
    "cursors without next": (
        {"data": ROWS, "paging": {"cursors": {"after": "x", "before": "y"}}},
        {},
    ),
    "all of the total": ({"total": 2, "items": ROWS}, {}),
    "last: true": (
        {
            "content": ROWS,
            "totalPages": 3,
            "totalElements": 6,
            "last": True,
            "number": 2,
        },
        {},
    ),
    "the last page": (
        {"current_page": 3, "data": ROWS, "last_page": 3, "total": 6},
        {},
    ),
    "the last page of the World Bank": (
        [{"page": 3, "pages": 3, "per_page": 2, "total": 6}, ROWS],
        {},
    ),
    "the last page from 0": (
        {"hits": ROWS, "nbHits": 9, "page": 4, "nbPages": 5, "hitsPerPage": 2},
        {},
    ),
    "the last page of Spring": (
        {"content": ROWS, "number": 3, "size": 2, "totalElements": 8, "totalPages": 4},
        {},
    ),
    "the last page of Spring that counts no pages": (
        {"content": ROWS, "number": 3, "size": 2, "totalElements": 8},
        {},
    ),
    "the last page of HAL": (
        {
            "_embedded": {"orders": ROWS},
            "page": {"size": 2, "totalElements": 8, "totalPages": 4, "number": 3},
        },
        {},
    ),
    "the last page from 0, not full": (
        {"items": ROWS, "pageIndex": 2, "pageSize": 3, "totalCount": 8},
        {},
    ),
    "the last page of pages from 0, not full": (
        {"items": ROWS, "page": 2, "size": 3, "total": 8, "totalPages": 3},
        {},
    ),
    "a token back, and none on": (
        {
            "items": ROWS,
            "prevPageToken": "x",
            "pageInfo": {"totalResults": 9, "resultsPerPage": 2},
        },
        {},
    ),
    "a page and its size": ({"items": ROWS, "total": 6, "page": 3, "per_page": 2}, {}),
    "an offset": ({"count": 9, "offset": 7, "limit": 2, "observations": ROWS}, {}),
    "a start index": (
        {"totalResults": 9, "itemsPerPage": 2, "startIndex": 8, "Resources": ROWS},
        {},
    ),
    "a start index from 0": (
        {"Items": ROWS, "TotalRecordCount": 8, "StartIndex": 6},
        {},
    ),
    "names of a vocabulary": (
        {
            "hydra:member": ROWS,
            "hydra:totalItems": 2,
            "hydra:view": {"hydra:first": "/a"},
        },
        {},
    ),
    "__count": ({"d": {"results": ROWS, "__count": "2"}}, {}),
    "more results: false": ({"items": ROWS, "moreResultsAvailable": False}, {}),
    "endOfRecords: true": ({"endOfRecords": True, "count": 9, "results": ROWS}, {}),
    "an offset that is text": ({"records": ROWS, "offset": "7", "total": "9"}, {}),
    "a bookmark: nil": ({"docs": ROWS, "bookmark": "nil"}, {}),
    "before without after": (
        {"data": {"children": ROWS, "after": None, "before": "t3_x"}},
        {},
    ),
    "what was asked for": ({"data": ROWS, "after": "2026-01-01", "size": 100}, {}),
    "done: true": ({"totalSize": 2, "done": True, "records": ROWS}, {}),
    "a count of something else": (
        {"items": ROWS, "usage": {"total": 900}, "elapsed": 30},
        {},
    ),
    "Link without next": (
        ROWS,
        {"link": '<https://a.example/?page=1>; rel="prev"', "x-total-count": "9"},
    ),
    "X-Next-Page: empty": (ROWS, {"x-next-page": "", "x-total-count": "9"}),
    "Content-Range to the end": (
        ROWS,
        {"content-range": "items 7-8/9", ":status": "206"},
    ),
    "a total of something else": ({"orders": ROWS, "total_refunds": 9}, {}),
    "a list": (ROWS, {":status": "200"}),
    "a record": ({"id": 1, "total": 9, "lines": ROWS}, {}),
}


@pytest.mark.fault(158)
@pytest.mark.parametrize(("document", "headers"), LAST.values(), ids=LAST)
def test_the_last_page_and_a_whole_list_warn_of_nothing(
    document: Any, headers: dict[str, str]
) -> None:
    assert told_of_more(document, headers) == []


def test_replies_of_the_service_are_not_searched_for_rows() -> None:
    """Replies in an envelope have shapes of their own."""
    assert to_frame(json.dumps({"total": 9, "items": ROWS})).shape == (1, 2)


@pytest.mark.parametrize(
    "document",
    [
        lambda n: {f"m{at}": {"a": {"b": [{"x": at}]}} for at in range(n)},
        lambda n: {"data": ROWS, **{f"list {at}": [{"x": 1}] for at in range(n)}},
        lambda n: {
            "data": [[1] * 5] * n,
            **{f"names {at}": list("abcde") for at in range(n)},
        },
        lambda n: {
            "data": [[1] * 5] * n,
            **{f"m{at}": {"columns": list("abcde")} for at in range(n)},
        },
        lambda n: {"data": ROWS, "links": [{"rel": "next"}] * n},
        lambda n: {str(at): {"x": at} for at in range(n)},
    ],
    ids=["members", "lists", "names", "columns", "links", "keys"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_are_found_in_linear_time(document: Any) -> None:
    made = {}

    def find(n: int) -> None:
        reply = made.setdefault(n, json.dumps(document(n)).encode())
        page_to_frame(reply, NO_HEADERS, schema=None, lines=False)

    assert_linear(find, most=20_000, start=200)


# Times with an offset

SUMMER = "2026-07-01T09:30:00+02:00"


@pytest.mark.parametrize(
    ("times", "dtype"),
    [
        ([SUMMER, None, "2026-01-01T09:30:00.5+02:00"], "datetime64[us, UTC+02:00]"),
        ([SUMMER, "2026-01-01T09:30:00+01:00"], "datetime64[us, UTC]"),
        ([SUMMER, "2026-07-01T09:30:00Z"], "datetime64[us, UTC]"),
        (["2026-07-01T09:30:00Z", "2026-01-01T09:30:00+00:00"], "datetime64[us, UTC]"),
        (["2026-07-01T09:30:00-04:30"], "datetime64[us, UTC-04:30]"),
    ],
)
def test_times_of_one_offset_keep_it(times: list[str | None], dtype: str) -> None:
    """The moments are the same as in UTC, which is used for mixed offsets and for the service's replies."""
    rows = [{"at": time} for time in times]
    own = read(rows)[0]["at"]
    in_utc = to_frame(json.dumps(rows))["at"]
    assert (str(own.dtype), str(in_utc.dtype)) == (dtype, "datetime64[us, UTC]")
    assert own.dt.tz_convert("UTC").equals(in_utc)


@pytest.mark.parametrize("kind", ["csv", "json", "xlsx", "parquet"])
def test_a_file_has_the_time_of_the_wall(kind: Any, tmp_path: Path) -> None:
    """Excel has no zones, so it gets text; Parquet keeps the zone."""
    readers: dict[str, Any] = {
        "csv": pd.read_csv,
        "json": partial(pd.read_json, dtype=False),
        "xlsx": pd.read_excel,
        "parquet": pd.read_parquet,
    }
    if kind == "xlsx":
        pytest.importorskip("xlsxwriter")
        pytest.importorskip("openpyxl")
    path = tmp_path / f"times.{kind}"
    save(read([{"at": SUMMER}])[0], path, kind)
    [time] = readers[kind](path)["at"]
    assert str(time).replace(" ", "T") == SUMMER


def test_results_of_two_zones_are_compared_by_the_moment() -> None:
    """A row whose time is the same moment has not changed."""
    own = read([{"key": "a", "at": SUMMER}, {"key": "b", "at": SUMMER}])[0]
    other = read(
        [
            {"key": "a", "at": "2026-07-01T07:30:00Z"},
            {"key": "b", "at": "2026-07-01T07:31:00Z"},
        ]
    )[0]
    assert set(diff(own, other)["key"]) == {"b"}
