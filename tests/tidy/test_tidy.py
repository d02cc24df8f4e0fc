"""The shape of the source: short files, short functions, nothing that ties it to one machine."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
MEDIAN_LINES_MAX = 200
OURS = ("src", "bench", "tests", ".ci")


def python_files() -> list[Path]:
    """All Python files of the project."""
    return sorted(path for top in OURS for path in (ROOT / top).rglob("*.py") if "__pycache__" not in path.parts)


def tracked_texts() -> list[Path]:
    """Files under version control that people write, fact files aside. Outside a checkout: the Python files."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = [name for name in listing.stdout.decode().split("\0") if name and not name.startswith("tests/cases/")]
    paths = [ROOT / name for name in names if Path(name).suffix not in {".gz", ".png", ".bin", ".warc"}]
    return [path for path in paths if path.is_file()] or python_files()


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), str(path))


def test_there_is_something_to_look_at() -> None:
    assert len(python_files()) > 30


def test_files_are_short() -> None:
    lengths = {relative(path): len(path.read_bytes().splitlines()) for path in python_files()}
    long = {name: lines for name, lines in lengths.items() if lines > FILE_LINES_MAX}
    assert not long, "past 400 lines a file holds two things"


def test_functions_are_short() -> None:
    long = [
        f"{relative(path)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in python_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert not long


def test_modules_say_what_lives_in_them() -> None:
    silent = [relative(path) for path in python_files() if not ast.get_docstring(tree_of(path))]
    assert not silent, "a module docstring says what lives here"


def test_median_file_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = [len(path.read_bytes().splitlines()) for path in python_files() if "src" in path.parts]
    median = statistics.median(lengths)
    with capsys.disabled():
        print(f"\nsource files: {len(lengths)}, median {median:.0f} lines, longest {max(lengths)}")
    assert median <= MEDIAN_LINES_MAX


def test_nothing_names_a_registry_or_a_machine() -> None:
    # Assembled from parts, so that this file does not name what it forbids.
    hosts = [
        "pypi" + r"\.org",
        "python" + r"hosted\.org",
        r"index-url\s*=",
        "proxy" + r"\.golang\.org",
        "registry" + r"\.npmjs",
    ]
    paths = [f"/{top}/" for top in ("wo" + "rk", "ro" + "ot", "ho" + "me")]
    pattern = re.compile("|".join(hosts) + "|" + "|".join(rf"(?<![\w.:}}])({path})" for path in paths))
    found = [
        f"{relative(path)}:{number}: {line.strip()[:100]}"
        for path in tracked_texts()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_locks_are_whole() -> None:
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    assert len(locks) == 5
    for lock in locks:
        text = lock.read_text()
        pinned = re.findall(r"^[\w.-]+==\S+", text, re.MULTILINE)
        assert pinned, lock.name
        assert text.count("==") >= len(pinned)
        for block in re.split(r"\n(?=[\w.-]+==)", text):
            assert "--hash=sha256:" in block, block[:80]


def test_every_dependency_is_used_by_the_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=]", wanted)[0].replace("-", "_") for wanted in project["dependencies"]}
    assert names
    code = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    used = [rf"^\s*(import|from) {name}\b|files\(\"{name}\"\)" for name in sorted(names)]  # imported, or its data read
    assert not [pattern for pattern in used if not re.search(pattern, code, re.MULTILINE)]


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    missing = [path.name for path in folder.glob("*.md") if path.name != "README.md" and f"({path.name})" not in index]
    assert not missing


def markdown_links() -> list[tuple[Path, str]]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return [
        (page, target.split("#")[0])
        for page in pages
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
        if not re.match(r"[a-z]+:", target) and not target.startswith("#")
    ]


def test_links_between_pages_lead_somewhere() -> None:
    links = markdown_links()
    assert links
    assert not [f"{relative(page)} -> {target}" for page, target in links if not (page.parent / target).exists()]
