"""The OpenAPI document matches the service: it has every path, and schemathesis finds no fault."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from jupyter_funcs.service.accounts.kept_records import KeptLimits, KeptRecords
from jupyter_funcs.service.publishing.registry import Registry, function
from jupyter_funcs.service.web.app import create_app
from jupyter_funcs.service.web.runs import Limits
from tests.service.conftest import GET_ALL, LIST, LOGIN, RUN, Wire, served

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx


@pytest.fixture
def document(demo_wire: Wire) -> dict[str, Any]:
    """The document, which needs no token."""
    reply = demo_wire.request("GET", "/openapi.json", token=None)
    assert reply.status_code == 200
    return reply.json()


def test_every_path_of_the_service_is_documented_with_its_methods(
    demo_wire: Wire, document: dict[str, Any], tmp_path: Path
) -> None:
    records = KeptRecords(demo_wire.grants.database, tmp_path / "runs", KeptLimits())
    engine = demo_wire.engine
    app = create_app(
        Registry((), author="t"), demo_wire.auth, demo_wire.grants, engine, kept=records
    )
    records.close()
    there = {
        (route.path, method)
        for route in app.routes
        for method in route.methods
        if method != "HEAD"
    }
    assert {
        (path, method.upper())
        for path, item in document["paths"].items()
        for method in item
    } == there


def test_its_schemas_are_schemas_and_whatever_they_refer_to_is_there(
    document: dict[str, Any],
) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(references(part) for part in value.values()))
        return (
            set().union(*(references(part) for part in value))
            if isinstance(value, list)
            else set()
        )

    for reference in references(document):
        _, _, kind, name = reference.split("/")
        assert name in document["components"][kind]
    assert set(document["components"]["schemas"]) == {
        reference.split("/")[-1]
        for reference in references(document)
        if "/schemas/" in reference
    }


def test_a_listing_has_the_fields_that_it_says_and_no_other(
    demo_wire: Wire, document: dict[str, Any]
) -> None:
    schemas = document["components"]["schemas"]
    for entry in demo_wire.post(LIST).json():
        assert entry.keys() == schemas["Function"]["properties"].keys()
        for param in entry["params"]:
            assert param.keys() == schemas["Param"]["properties"].keys()


def test_the_example_of_a_run_is_one_of_the_demo(
    demo_wire: Wire, document: dict[str, Any]
) -> None:
    """The example of a reply is a reply of the demo."""
    ran = next(iter(document["paths"][RUN].values()))["responses"]["200"]
    [row] = json.loads(ran["content"]["application/json"]["example"]["body"])
    assert row in demo_wire.rows("Get Panels")


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        pytest.param("POST", LIST, {"token": None}, 401, id="no token"),
        pytest.param(
            "POST", LIST, {"content": b"x" * 1_100_000}, 413, id="a long body"
        ),
        pytest.param("POST", LIST, {"content": b"x"}, 415, id="another content type"),
        pytest.param(
            "GET",
            GET_ALL,
            {"headers": {"Host": "evil.example"}},
            403,
            id="another host",
        ),
        pytest.param("POST", RUN, {"json": []}, 400, id="no run"),
        pytest.param(
            "POST", RUN, {"json": {"FunctionName": "?"}}, 404, id="an unknown function"
        ),
        pytest.param(
            "POST", RUN, {"json": {"FunctionName": "Get KPIs"}}, 422, id="no arguments"
        ),
        pytest.param(
            "POST",
            LOGIN,
            {"json": {"email": "a", "password": "b"}},
            401,
            id="a wrong login",
        ),
        pytest.param("PUT", RUN, {}, 405, id="another method"),
    ],
)
def test_each_refusal_is_the_one_that_it_says(
    demo_wire: Wire,
    document: dict[str, Any],
    method: str,
    path: str,
    options: dict[str, Any],
    status: int,
) -> None:
    reply = demo_wire.request(method, path, **options)
    assert reply.status_code == status
    assert_documented(document, path, reply)


def test_so_are_those_of_a_service_that_is_busy(
    publish: Callable[..., Wire], document: dict[str, Any]
) -> None:
    go = threading.Event()

    def python() -> list[Any]:
        """Wait."""
        go.wait(60)
        return []

    slow = function(asset="a", name="Slow")(python)
    run = {"json": {"FunctionName": "Slow"}}
    login = {"json": {"email": "t", "password": "?"}, "token": None}
    for limits, path, options, statuses in (
        (Limits(run_seconds=0.4), RUN, run, [504]),
        (Limits(concurrent_runs=0), RUN, run, [429]),
        (Limits(runs_a_user=0), RUN, run, [429]),
        (Limits(wrong_logins_per_name=1), LOGIN, login, [401, 429]),
    ):
        wire = publish(slow, limits=limits)
        for status in statuses:
            reply = wire.post(path, **options)
            assert reply.status_code == status
            assert_documented(document, path, reply)
    go.set()


def assert_documented(
    document: dict[str, Any], path: str, reply: httpx.Response
) -> None:
    """Check a reply against the document."""
    [operation] = document["paths"][path].values()
    documented = operation["responses"][str(reply.status_code)]
    if "$ref" in documented:
        name = documented["$ref"].split("/")[-1]
        documented = document["components"]["responses"][name]
    assert all(name in reply.headers for name in documented["headers"])
    media_type = reply.headers["content-type"].partition(";")[0]
    schema = documented["content"][media_type]["schema"]
    is_json = reply.headers["content-type"] == "application/json"
    Draft202012Validator({**schema, "components": document["components"]}).validate(
        reply.json() if is_json else reply.text
    )


@pytest.mark.slow
def test_schemathesis_finds_no_fault(demo_wire: Wire, tmp_path: Path) -> None:
    """schemathesis sends valid and invalid requests and checks every reply against the document."""
    pytest.importorskip(
        "schemathesis", reason="schemathesis isn't installed: pip install -e '.[check]'"
    )
    schemathesis = Path(sys.executable).parent / "schemathesis"
    paths = [LIST, GET_ALL, RUN, LOGIN, "/healthz"]
    with served(demo_wire.app) as address:
        command = [schemathesis, "run", f"{address}/openapi.json", "--checks", "all"]
        # A busy machine may take any time: by default, a reply after 10 s is a fault.
        command += ["--max-response-time", "600", "--request-timeout", "600"]
        command += ["--suppress-health-check", "too_slow"]
        command += itertools.chain(*(("--include-path", path) for path in paths))
        command += [
            "--header",
            f"Authorization: Bearer {demo_wire.token}",
            "--no-color",
            "--seed",
            "1",
        ]
        command += ["--max-examples", "15"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert "5 selected" in done.stdout
