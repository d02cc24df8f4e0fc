"""The API tried with requests made from its own description: whatever is sent, no 5xx, and answers as promised."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.config import ProjectConfig, ProjectsConfig, SchemathesisConfig

from gossamer.serve.app import endpoints
from gossamer.serve.listen import HEAD_MAX_BYTES
from tests.conftest import LONG
from tests.serve.fakes import FakeControl
from tests.serve.server import Running

EXAMPLES = 100 if LONG else 5
ESCAPED_BYTES_MAX = 12  # of a character in a query: four bytes, three signs each
OPERATIONS = [(one.method, one.path) for one in endpoints()]


@pytest.fixture(scope="session")
def api(_shared: Running) -> Any:
    project = ProjectConfig(base_url=_shared.base)
    config = SchemathesisConfig(projects=ProjectsConfig(default=project))
    return schemathesis.openapi.from_url(f"{_shared.base}/openapi.json", config=config)


@pytest.mark.timeout(1_200 if LONG else 120)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=str)
def test_whatever_is_sent(
    server: Running, control: FakeControl, api: Any, method: str, path: str, mode: GenerationMode
) -> None:
    """What a value means is checked beyond its form (is it a URL? a host?), so well-formed requests may be refused."""
    excluded = [schemathesis.checks.CHECKS.get_one("positive_data_acceptance")]
    rejection = schemathesis.checks.CHECKS.get_one("negative_data_rejection")
    headers = {"Authorization": f"Bearer {server.tokens['admin']}"}
    statuses = set()

    @given(api[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    def send(case: Any) -> None:
        try:
            response = case.call(headers=headers)
        except OSError:  # the refusal of a head that is too long can be lost on its way: not all of that head was read
            assert len(str(case.query)) > HEAD_MAX_BYTES // ESCAPED_BYTES_MAX
            return
        assert response.status_code < 500, response.text
        sent = parse_qs(urlsplit(response.request.url).query, keep_blank_values=True)
        lost = set(case.query or ()) - set(sent)  # an empty list has no form in a query: nothing wrong was sent
        case.validate_response(response, excluded_checks=[*excluded, rejection] if lost else excluded)
        statuses.add(response.status_code)

    try:
        send()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # there is nothing to be wrong about
        return
    assert statuses


def test_the_document_is_whole(server: Running) -> None:
    document = server.get("/openapi.json", role=None).json
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {one.path for one in endpoints()}
    names = {ref.rpartition("/")[2] for ref in _refs(document)}
    assert names <= set(document["components"]["schemas"])
    operations = [one for path in document["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations) == 27
    assert all(one["summary"].endswith(".") for one in operations)


def _refs(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [ref for value in node.values() for ref in _refs(value)]
    return [ref for value in node for ref in _refs(value)] if isinstance(node, list) else []
