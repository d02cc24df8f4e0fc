"""The dashboard: pages made on the server, kept as of now by server-sent events, and forms that operate the crawl.

No inline script, no request to anybody else, nothing from the web unescaped: what is not printable is written out, then
HTML's own signs are.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from gossamer.serve.api import SECURITY_HEADERS, Api
from gossamer.serve.crawls import Served
from gossamer.serve.door import COOKIE, SESSION_S
from gossamer.serve.endpoint import Principal
from gossamer.serve.faults import ApiError
from gossamer.serve.forms import FORM_MAX_BYTES, perform
from gossamer.serve.hostviews import found_host
from gossamer.serve.inputs import read_bytes
from gossamer.serve.public import ABOUT, KEPT, about
from gossamer.serve.streams import Streams, Visitor
from gossamer.serve.tokens import Role
from gossamer.serve.view import Values, View
from gossamer.serve.views import VIEWS
from gossamer.surface.checks import is_host
from gossamer.surface.explainview import moment
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_count, show_duration, show_size
from gossamer.version import VERSION

SAID_MAX: Final = 1_000
EVENTS: Final = "text/event-stream"
FOUND_MAX_CHARS: Final = 16_384
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS: Final = dict((
    *SECURITY_HEADERS,
    ("Content-Security-Policy", _POLICY),
    ("Referrer-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
))  # fmt: skip
_STATIC: Final = {
    "gossamer.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def _written_out(value: object) -> object:
    return escape(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def environment() -> Environment:
    """The templates, with what they call."""
    made = Environment(
        loader=PackageLoader("gossamer.serve"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_written_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(count=show_count, size=show_size, seconds=show_duration, moment=moment)
    made.globals.update(plural=plural, version=VERSION)
    parts = made.get_template("parts.html").module  # as globals: a block that is sent alone has no imports
    made.globals.update(tile_row=parts.tile_row, scroller=parts.scroller)  # type: ignore[attr-defined]
    return made


class Pages:
    """Answers browsers."""

    def __init__(self, api: Api) -> None:
        """Show what `api` serves."""
        self._api = api
        self._templates = environment()
        self._views = {view.path: view for view in VIEWS}
        self._streams = Streams()
        self._said: dict[str, str] = {}  # session -> what is told on its next page

    def routes(self) -> list[BaseRoute]:
        """Every path of the dashboard."""
        return [
            *(Route(view.path, self._show(view)) for view in VIEWS),
            Route("/events", self.events),
            Route("/find", self.find),
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/logout", self.logout, methods=["POST"]),
            Route("/do/{form}", self.do, methods=["POST"]),
            Route("/static/{name}", self.static),
            Route(ABOUT, self.about),
        ]

    # -- looking ---------------------------------------------------------------------------------------------------

    def _show(self, view: View) -> Any:  # noqa: ANN401 - what starlette takes for an endpoint
        async def show(request: Request) -> Response:
            visitor = None
            try:
                visitor = self._visitor(request)
                if visitor is None:
                    return self._login_page(request, next_path=_own_path(request))
                served = self._crawl(request)
                values = await view.values(served, request.query_params)
            except ApiError as error:
                return self._fault(request, error, visitor)
            said = self._said.pop(request.cookies.get(COOKIE, ""), "")
            context = self._frame(request, visitor, served, view) | values | {"said": said}
            return HTMLResponse(self._templates.get_template(view.template).render(context), headers=PAGE_HEADERS)

        return show

    def _crawl(self, request: Request) -> Served:
        """The crawl that a page is about: the one named, or the first. Raises ApiError."""
        return self._api.crawls.pick(request.query_params.get("crawl", "") or next(iter(self._api.crawls.all)))

    def _visitor(self, request: Request) -> Principal | None:
        self._api.door.check_host(request)
        self._api.door.check_site(request)
        return self._api.door.visitor(request)

    def _frame(self, request: Request, visitor: Principal | None, served: Served | None, view: View | None) -> Values:
        """What every page has around what it shows."""
        several = len(self._api.crawls.all) > 1 and served is not None
        crawl = served.name if served is not None else ""
        path = view.path if view is not None else "/"
        who = "" if visitor is None else f"{visitor.name} ({visitor.role.value})" if visitor.name else "looking only"
        return {
            "title": view.title if view is not None else "Log in",
            "crawl": crawl,
            "crawls": list(self._api.crawls.all) if visitor is not None else [],
            "here": f"?crawl={quote(crawl)}" if several else "",
            "and_crawl": Markup("&amp;crawl={}").format(quote(crawl)) if several else "",
            "current": path,
            "menu": [(one.path, one.title) for one in VIEWS if one.in_menu],
            "who": who,
            "can_log_out": visitor is not None and bool(visitor.name),
            "can_operate": visitor is not None and visitor.role.allows(Role.OPERATE),
            "can_admin": visitor is not None and visitor.role.allows(Role.ADMIN),
            "events": _events_path(view, crawl if several else "", request.query_params),
            "said": "",
        }

    def _fault(self, request: Request, error: ApiError, visitor: Principal | None = None) -> Response:
        frame = self._frame(request, visitor, None, None)
        text = self._templates.get_template("fault.html").render(
            frame | {"title": f"Refused ({error.status})", "fault": error.fault, "back": _back(request)}
        )
        return HTMLResponse(text, error.status, headers=PAGE_HEADERS)

    async def find(self, request: Request) -> Response:
        """What somebody typed: a host or a URL."""
        visitor = None
        try:
            visitor = self._visitor(request)
            if visitor is None:
                return self._login_page(request, next_path=_own_path(request))
            served = self._crawl(request)
            asked = request.query_params.get("q", "").strip()[:FOUND_MAX_CHARS]
            name = asked.lower()
            found = await served.read(lambda reader: found_host(reader, name)) if is_host(name) else ""
        except ApiError as error:
            return self._fault(request, error, visitor)
        path, query = ("/host", {"host": found}) if found else ("/url", {"url": asked})
        more = {"crawl": served.name} if len(self._api.crawls.all) > 1 else {}
        return RedirectResponse(f"{path}?{urlencode(query | more)}", 303, headers=PAGE_HEADERS)

    # -- live ------------------------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """The parts of a page that change, as they change (server-sent events)."""
        visitor = None
        try:
            visitor = self._visitor(request)
            view = self._views.get(request.query_params.get("page", ""))
            if visitor is None:
                raise ApiError(401, "log in first", field="cookie", allowed="a session")
            if view is None or not view.live:
                raise ApiError(404, "this page has nothing that changes", field="query.page")
            self._streams.check(visitor.name or visitor.address)
            served = self._crawl(request)
        except ApiError as error:
            return self._fault(request, error, visitor)
        if request.method == "HEAD":
            return Response(headers=PAGE_HEADERS, media_type=EVENTS)
        template, frame = self._templates.get_template(view.template), self._frame(request, visitor, served, view)

        def parts(values: Values) -> dict[str, str]:
            context = template.new_context(frame | values)
            return {name: "".join(template.blocks[name](context)) for name in view.live}

        looker = Visitor(
            visitor.name or visitor.address,
            may_look=lambda: self._api.door.visitor(request) is not None,
            is_over=lambda: _is_ending(request),
        )
        stream = self._streams.run(looker, view, parts, served, request.query_params)
        return StreamingResponse(stream, headers=PAGE_HEADERS, media_type=EVENTS)

    # -- changing --------------------------------------------------------------------------------------------------

    async def do(self, request: Request) -> Response:
        """A form that was sent: the same checks, rights and audit as the API's."""
        visitor = None
        try:
            visitor = self._visitor(request)
            if visitor is None:
                raise ApiError(401, "log in first", field="cookie", allowed="a session")
            fields = await _form(request)
            served = self._crawl(request)
            done = await perform(self._api, request, visitor, request.path_params["form"], fields, served)
        except ApiError as error:
            return self._fault(request, error, visitor)
        self._streams.forget()
        self._say(request, done.text)
        more = {"crawl": served.name} if len(self._api.crawls.all) > 1 else {}
        query = urlencode(done.query | more)
        return RedirectResponse(done.path + (f"?{query}" if query else ""), 303, headers=PAGE_HEADERS)

    def _say(self, request: Request, text: str) -> None:
        session = request.cookies.get(COOKIE, "")
        if session and len(self._said) < SAID_MAX:
            self._said[session] = text

    # -- sessions --------------------------------------------------------------------------------------------------

    async def login(self, request: Request) -> Response:
        """Show the form, or take the token that was typed into it."""
        try:
            self._api.door.check_host(request)
            self._api.door.check_site(request)
            if request.method != "POST":
                return self._login_page(request, next_path="/", status=200)
            fields = await _form(request)
            where = fields.get("next", "/")
            where = where if _is_path(where) else "/"
            cookie = self._api.door.log_in(fields.get("token", "").strip())
        except ApiError as error:
            return self._fault(request, error)
        if cookie is None:
            refusal = ApiError(401, "a token that is not known", field="body.token")
            await self._api.note_refusal("POST", request, None, refusal)
            return self._login_page(request, next_path=where, refused=True)
        response = RedirectResponse(where, 303, headers=PAGE_HEADERS)
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=int(SESSION_S),
            httponly=True,
            samesite="strict",
            secure=request.scope["scheme"] == "https",
        )
        return response

    async def logout(self, request: Request) -> Response:
        """End the session."""
        try:
            self._visitor(request)
        except ApiError as error:
            return self._fault(request, error)
        self._api.door.log_out(request)
        response = RedirectResponse("/login", 303, headers=PAGE_HEADERS)
        response.delete_cookie(COOKIE)
        return response

    def _login_page(self, request: Request, *, next_path: str, refused: bool = False, status: int = 401) -> Response:
        frame = self._frame(request, None, None, None)
        text = self._templates.get_template("login.html").render(frame | {"next": next_path, "refused": refused})
        return HTMLResponse(text, status, headers=PAGE_HEADERS)

    async def about(self, request: Request) -> Response:
        """What this crawler is, for site owners: no session, under any name."""
        try:
            values = await about(self._api.crawls)
        except ApiError as error:
            return self._fault(request, error)
        frame = self._frame(request, None, None, None)
        text = self._templates.get_template("bot.html").render(frame | values)
        return HTMLResponse(text, headers=PAGE_HEADERS | dict(KEPT))

    async def static(self, request: Request) -> Response:
        """Style, script and icon."""
        name = request.path_params["name"]
        if name not in _STATIC:
            return self._fault(request, ApiError(404, "there is no such file", field="path", value=name))
        data = files("gossamer.serve").joinpath("static", name).read_bytes()
        return Response(data, headers=PAGE_HEADERS | {"Cache-Control": "max-age=300"}, media_type=_STATIC[name])


def _is_ending(request: Request) -> bool:
    """Whether the server is on its way out: a stream would keep it waiting."""
    server = getattr(request.app.state, "server", None)
    return server is not None and server.should_exit


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. Raises ApiError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise ApiError(415, "a form is expected", field="header.Content-Type")
    data = await read_bytes(request, FORM_MAX_BYTES)
    try:
        return dict(parse_qsl(data.decode(), keep_blank_values=True, max_num_fields=32, errors="strict"))
    except ValueError as error:
        raise ApiError(400, "the form cannot be read", field="body") from error


def _is_path(text: str) -> bool:
    """Whether a text is a path of ours, and no address elsewhere that looks like one."""
    return text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()


def _back(request: Request) -> str:
    """The page of ours that somebody came from."""
    place, _, path = request.headers.get("referer", "").partition("://")[2].partition("/")
    return f"/{path}" if place == request.headers.get("host") and _is_path(f"/{path}") else "/"


def _own_path(request: Request) -> str:
    query = request.scope["query_string"].decode("latin-1")
    return str(request.scope["path"]) + (f"?{query}" if query else "")


def _events_path(view: View | None, crawl: str, params: Mapping[str, str]) -> str:
    if view is None or not view.live:
        return ""
    given = {name: params[name] for name in view.fields if name in params}
    return "/events?" + urlencode({"page": view.path, **({"crawl": crawl} if crawl else {}), **given})


def page_routes(api: Api) -> list[BaseRoute]:
    """The routes of the dashboard."""
    return Pages(api).routes()
