"""Tokens that may need the user: a login with email and password or at a provider, and the system's keyring."""

from __future__ import annotations

import getpass
import math
import sys
import time
import warnings
from base64 import b64encode
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

from jupyter_funcs.connection.error_bodies import error_text
from jupyter_funcs.connection.proxies import request_once
from jupyter_funcs.connection.secrets import AccessToken, Hidden, Secret, redacted_line
from jupyter_funcs.connection.tokens import (
    BASIC,
    RENEW_SECONDS,
    CachedToken,
    LogIn,
    Make,
    TokenSource,
    is_plain,
)
from jupyter_funcs.core import background
from jupyter_funcs.core.background import in_thread
from jupyter_funcs.core.errors import (
    AuthenticationError,
    ConfigError,
    FuncsError,
    ServiceConnectionError,
)
from jupyter_funcs.core.json_decoding import JsonObject, Values, only, read_object
from jupyter_funcs.core.text import clip, inert, quote
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    import httpx


T = TypeVar("T")

_KEYRING_SECONDS = 1.5
_LOGIN_SECONDS = 180.0  # for a user to log in at a provider
# How a token is got, the most convenient first, and the names of the addresses where OpenID Connect describes them.
FLOWS = ("client", "browser", "device")
_ENDPOINTS = {
    "token": "token_endpoint",
    "browser": "authorization_endpoint",
    "device": "device_authorization_endpoint",
}
_WELL_KNOWN = "/.well-known/openid-configuration"
_KEYRING_PROBLEMS = {
    "NoKeyringError": "this machine has none",
    "KeyringLocked": "it is locked",
}
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_PENDING = {"authorization_pending", "slow_down"}
# What a provider says to a client whose secret is where it doesn't look, if it says what OAuth 2 says at all.
_UNKNOWN_CLIENT = (None, "invalid_client", "invalid_request")
_FORM = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Accept": "application/json",
}
_REFUSALS = {400, 401, 403}
_CHECK_CLIENT = "Check the client and its provider."


class Login(CachedToken):
    """A token that the service returns for an email and a password; only the token is kept, in memory or keyring."""

    _rejected: Secret | None = None

    def __init__(
        self, profile: str, base_url: str, email: str, *, in_keyring: bool
    ) -> None:
        super().__init__(f"login of profile {quote(profile)}")
        self.in_keyring = in_keyring
        self._profile = profile
        self._base_url = base_url
        self.email = email

    def ask_missing(self, login: LogIn) -> None:
        """Log in, unless there is a token."""
        if (missing := self.missing()) is None:
            return
        email = self.email or ask(
            f"Email for {self._base_url}: ", "the email to log in with", missing
        )
        password = ask_hidden(
            f"Password of {email} for {self._base_url}: ",
            f"the password of {email}",
            missing,
        )
        try:
            self.log_in(email, password, login)
        except KeyringUnavailableError as error:
            warn(
                f"The keyring cannot be used ({error}). The {self.label} stays in memory and ends with this process."
            )

    def log_in(self, email: str, password: Hidden, login: LogIn) -> None:
        """Get a token for a password; raises `KeyringUnavailableError` if it can't be put into the keyring."""
        secret = login(email, password)
        self.cache(secret)
        if self.in_keyring:
            keyring_set(self._base_url, self.email, secret)

    def reject(self, secret: Secret) -> None:
        """Forget this token, in the keyring too, so that the next login asks."""
        super().reject(secret)
        self._rejected = secret
        if self.in_keyring:
            with suppress(KeyringUnavailableError):
                if keyring_get(self._base_url, self.email) == secret.reveal():
                    _use_keyring(
                        lambda keyring: keyring.delete_password(
                            _entry(self._base_url), self.email
                        )
                    )

    def _read(self) -> str:
        if self.in_keyring:
            with suppress(KeyringUnavailableError, ConfigError):
                secret = Secret(keyring_get(self._base_url, self.email))
                rejected = self._rejected and self._rejected.reveal()
                if secret.expires_at > time.time() and secret.reveal() != rejected:
                    return secret.reveal()

        raise AuthenticationError(
            f"You are not logged in, or the login has expired: {self.label}.",
            f"Log in with %funcs connect {self._profile}; in a shell: jupyter funcs login --profile {self._profile}.",
        )


class FromKeyring(CachedToken):
    """An entry of the keyring; if the keyring can't be used, the user is asked for the token."""

    def __init__(self, label: str, base_url: str, user: str, make: Make) -> None:
        super().__init__(label, make)
        self._base_url = base_url
        self._user = user

    def ask_missing(self, login: LogIn) -> None:  # noqa: ARG002  # the base class's signature
        """Ask for the token if the keyring doesn't return it."""
        if (problem := self.missing()) is None:
            return
        prompt = f"{problem.what}\nToken (not shown, kept in memory): "
        token = ask_hidden(prompt, f"the token of the {self.label}", problem)
        self.cache(self._make(token.reveal()))

    def _read(self) -> str:
        problem = "has no such entry"
        try:
            if text := keyring_get(self._base_url, self._user):
                return text
        except KeyringUnavailableError as error:
            problem = f"cannot be used ({error})"

        raise AuthenticationError(
            f"The keyring {problem}: {self.label}.",
            f"Add it: keyring set '{_entry(self._base_url)}' '{self._user}'",
        )


class OAuth(CachedToken):
    """A token of an OAuth 2 or OpenID Connect provider, for a client's own secret or after a login in the browser."""

    renews = True
    renew_seconds = RENEW_SECONDS
    _refresh: Secret | None = None
    _flows: JsonObject | None = None
    _ends = math.inf

    def __init__(
        self,
        label: str,
        table: Values,
        profile: str,
        secret: TokenSource | None,
        may_ask: Callable[[str], bool],
    ) -> None:
        super().__init__(label, self._made)
        self._table = table  # of the profile
        self._parameters = table.get("parameters", {})
        self._profile = profile
        self._secret = secret
        self._may_ask = may_ask
        self.port = table.get("redirect_port", 0)
        self._scheme: JsonObject = {}

    def bind(self, scheme: JsonObject) -> None:
        """Learn from a document where the provider is."""
        scheme = {**scheme, "scopes": ()}  # those of one operation
        if scheme != self._scheme:
            self._scheme = scheme
            self._flows = None

    def post(
        self, url: str, data: Mapping[str, str], auth: Any, **_: Any
    ) -> httpx.Response:
        """Send a request of the OAuth library to the provider, and follow no redirect with a secret."""
        for header, client in _introductions(auth):
            body = urlencode({**data, **client})
            reply = request_once("POST", url, {**_FORM, **header}, body)
            about = read_object(reply.content)
            if about.get("error") not in _UNKNOWN_CLIENT or reply.is_success:
                break

        code = only(str, about.get("error"))
        if reply.is_success and about and not code:
            return reply
        words = (code or f"status {reply.status_code}", error_text(reply.content))
        is_refusal = about and reply.status_code in _REFUSALS
        failure = (AuthenticationError if is_refusal else ServiceConnectionError)(
            f"The {self.label} failed: {' '.join(dict.fromkeys(words)).rstrip()}",
            _CHECK_CLIENT,
        )
        failure.refused = code in _PENDING
        raise failure

    def ask_missing(self, login: LogIn) -> None:  # noqa: ARG002  # the base class's signature
        """Log in at the provider, in a browser of this machine or of another, unless there is a token."""
        if (missing := self.missing()) is None:
            return
        flow, urls = self._flow()
        if flow == "client":
            raise missing
        text = self._by_device(urls) if flow == "device" else self._by_browser(urls)
        self.cache(self._made(text))

    def _read(self) -> str:
        flow, urls = self._flow()
        if self._refresh is None and "keep" in self._table:
            with suppress(KeyringUnavailableError, ConfigError):
                self._refresh = Secret(keyring_get(urls["token"], self._entry))

        if (refresh := self._refresh) is not None:
            with suppress(AuthenticationError):  # it has ended as well
                # Without a scope it is for what was granted, which may be less than what was asked for.
                return self._fetched(
                    lambda: {
                        "grant_type": "refresh_token",
                        "refresh_token": refresh.reveal(),
                        "scope": "",
                    }
                )
            self._refresh = None

        if flow == "client":
            return self._fetched(
                lambda: {"grant_type": "client_credentials", **self._parameters}
            )

        raise AuthenticationError(
            f"You are not logged in, or the login has ended: {self.label}.",
            f'Log in with %funcs connect {self._profile}, or jf.connect("{self._profile}").ready(); '
            f"with keep in a shell: jupyter funcs login --profile {self._profile}.",
        )

    @property
    def _entry(self) -> str:
        return f"{self._table['client_id']} {self._profile}"

    def _made(self, text: str) -> Secret:
        flow, _ = self._flow()
        account = {}
        if flow == "client":
            account["client_id"] = self._table["client_id"]
        return AccessToken(text, self._ends, account)

    def _flow(self) -> tuple[str, JsonObject]:
        """Return the flow that gets a token, and its addresses."""
        if self._flows is None:
            listed = self._scheme.get("flows", {})
            self._flows = self._discovered() or {
                name: {key: self._checked(url) for key, url in urls.items()}
                for name, urls in listed.items()
            }

        wanted = FLOWS[self._secret is None :]
        if "flow" in self._table:
            wanted = (self._table["flow"],)
        for flow in wanted:
            if flow in self._flows:
                return flow, self._flows[flow]

        raise ConfigError(
            f"No address is known for the {self.label}.",
            'Add issuer = "https://…" for OpenID Connect, or another flow or client_secret_env.',
        )

    def _discovered(self) -> JsonObject:
        """Return the flows that a provider describes, in the standard way for OpenID Connect."""
        address = self._scheme.get("discovery", "")
        issuer = self._table.get("issuer") or address.removesuffix(_WELL_KNOWN)
        if not issuer:
            return {}
        url = self._checked(issuer.rstrip("/") + _WELL_KNOWN)
        about = read_object(self._sent(lambda: request_once("GET", url, {}).content))
        if only(str, about.get("issuer")).rstrip("/") != issuer.rstrip("/"):
            raise ConfigError(
                f"{quote(url)} describes another provider than {quote(issuer)}.",
                "Check the issuer.",
            )

        # Of any origin: the provider itself names them.
        urls = {key: only(str, about.get(name)) for key, name in _ENDPOINTS.items()}
        urls = {
            key: url
            for key, url in urls.items()
            if url.startswith("http") and not is_plain(url)
        }
        if "token" not in urls:
            return {}
        return {
            flow: {"token": urls["token"], "start": urls.get(flow)}
            for flow in ("client", *urls)
        }

    def _checked(self, url: str) -> str:
        """Return an address that a document names, if a secret may go there."""
        if self._may_ask(url) and not is_plain(url):
            return url
        origin = clip(inert("://".join(urlsplit(url)[:2])))
        raise ConfigError(
            f"The document names {quote(origin)} for the {self.label}.",
            f'If you trust it, add to auth in the profile: allow_server = "{origin}".',
        )

    def _client(self, **more: Any) -> Any:
        try:
            from authlib.oauth2.client import OAuth2Client
        except ModuleNotFoundError:
            raise ConfigError(
                "OAuth needs another package.", "pip install 'jupyter-funcs[oauth]'"
            ) from None

        is_openid = "issuer" in self._table or "discovery" in self._scheme
        scope = " ".join(self._table.get("scopes", ())) or (
            "openid" if is_openid else None
        )
        return OAuth2Client(self, **self.registered(), scope=scope, **more)

    def registered(self) -> JsonObject:
        """Return the client as its provider knows it."""
        client = {"client_id": self._table["client_id"]}
        if self._secret is not None:
            client["client_secret"] = self._secret().reveal()
        return client

    def _sent(self, send: Callable[[], T]) -> T:
        """Return what a request to the provider returns, and say why there is nothing without showing it."""
        try:
            return send()
        except FuncsError:
            raise
        except Exception as error:  # noqa: BLE001  # the library's, HTTP's and those of odd replies
            problem = type(error).__name__

        raise ServiceConnectionError(
            f"The {self.label} failed: {problem}.", _CHECK_CLIENT
        )

    def _fetched(self, grant: Callable[[], dict[str, str]], client: Any = None) -> str:
        """Return the access token for a grant, which may be a secret, and keep what renews it."""
        url = self._flow()[1]["token"]
        answer = self._sent(
            lambda: (client or self._client()).fetch_token(url, **grant())
        )
        self._ends = only(int, answer.get("expires_at")) or math.inf
        if refresh := only(str, answer.get("refresh_token")):
            self._refresh = Secret(refresh)
            with suppress(KeyringUnavailableError):
                if "keep" in self._table:
                    keyring_set(url, self._entry, self._refresh)

        return only(str, answer.get("access_token"))

    def _by_browser(self, urls: JsonObject) -> str:
        """Log in with a browser of this machine, which the provider sends back to a port of it."""
        from secrets import token_urlsafe

        with Redirect(self.port) as redirect:
            client = self._client(
                redirect_uri=redirect.uri, code_challenge_method="S256"
            )
            verifier = token_urlsafe(48)
            url, _ = client.create_authorization_url(
                urls["start"], code_verifier=verifier, **self._parameters
            )
            answer = redirect.answer_to(url, self.label)

        return self._fetched(
            lambda: {
                "grant_type": "authorization_code",
                "code": answer["code"],
                "code_verifier": verifier,
            },
            client,
        )

    def _by_device(self, urls: JsonObject) -> str:
        """Log in with a browser of any machine, with a code that the user enters there."""
        client = self._client()
        data = self._parameters | ({"scope": client.scope} if client.scope else {})
        reply = self._sent(lambda: self.post(urls["start"], data, client))
        about = read_object(reply.content)
        code, place = (
            redacted_line(only(str, about.get(key)))
            for key in ("user_code", "verification_uri")
        )
        if not (code and place and about.get("device_code")):
            raise AuthenticationError(
                f"The {self.label} failed: the provider issued no code.",
                "Try another flow.",
            )

        _show(f"To log in, open {place} and enter the code {code}")
        until = time.monotonic() + _LOGIN_SECONDS
        seconds = float(only(int, about.get("interval", 5)))
        while time.monotonic() < until:
            time.sleep(min(max(seconds, 0.1), 60))
            try:
                return self._fetched(
                    lambda: {
                        "grant_type": _DEVICE_GRANT,
                        "device_code": about["device_code"],
                    },
                    client,
                )
            except AuthenticationError as error:
                if not error.refused:  # else the user has not entered it yet
                    raise

        raise AuthenticationError(
            f"The {self.label} was not finished in time.", "Try again."
        )


def _introductions(client: Any) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Yield the headers and the body that name a client; some providers read either of them only."""
    named = {"client_id": client.client_id}
    if client.client_secret:
        named["client_secret"] = client.client_secret
        pair = ":".join(map(quote_plus, named.values()))  # RFC 6749, 2.3.1
        yield {"Authorization": BASIC + b64encode(pair.encode()).decode()}, {}
    yield {}, named


class ServerLogin(CachedToken):
    """A token of the provider that an MCP server names, after a login in the browser; renewed while that lasts."""

    renews = True
    renew_seconds = RENEW_SECONDS
    # Returns a token, when it ends, and what renews it; set by what knows the protocol.
    fetch: Callable[
        [str, Redirect | None, JsonObject],
        Coroutine[Any, Any, tuple[str, float, str]],
    ]

    def __init__(
        self,
        profile: str,
        base_url: str,
        client: OAuth | None,
        *,
        in_keyring: bool,
    ) -> None:
        super().__init__(f"login of profile {quote(profile)}", self._made)
        self._client = client
        self._profile = profile
        self._base_url = base_url
        self._in_keyring = in_keyring
        self._ends = math.inf
        # What renews the token, which no debugger shows.
        self._kept: Callable[[], str] = str

    def ask_missing(self, login: LogIn) -> None:  # noqa: ARG002  # the base class's signature
        """Log in with a browser of this machine, unless there is a token."""
        if self.missing() is not None:
            with Redirect(self._client.port if self._client else 0) as redirect:
                self.cache(self._made(self._fetched(redirect)))

    def _read(self) -> str:
        if self._in_keyring and not self._kept():
            with suppress(KeyringUnavailableError):
                text = keyring_get(self._base_url, self._profile)
                self._kept = lambda: text

        if self._kept():
            with suppress(AuthenticationError):  # it has ended as well
                return self._fetched(None)
            self._kept = str

        raise AuthenticationError(
            f"You are not logged in, or the login has ended: {self.label}.",
            f'Log in with %funcs connect {self._profile}, or jf.connect("{self._profile}").ready().',
        )

    def _fetched(self, redirect: Redirect | None) -> str:
        client = self._client.registered() if self._client else {}
        text, self._ends, kept = background.run(
            self.fetch(self._kept(), redirect, client)
        )
        self._kept = lambda: kept
        if self._in_keyring:
            with suppress(KeyringUnavailableError):
                keyring_set(self._base_url, self._profile, Hidden(kept))
        return text

    def _made(self, text: str) -> Secret:
        return AccessToken(text, self._ends, {})


class Redirect(HTTPServer):
    """The port of this machine to which a provider sends the browser back."""

    timeout = 0.5
    state = ""

    def __init__(self, port: int) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Redirected)
        except OSError as error:
            raise ConfigError(
                f"Port {port} can't be used: {error.strerror}.", "Check redirect_port."
            ) from None

        self.answer: dict[str, str] = {}
        self.uri = f"http://127.0.0.1:{self.server_port}/callback"

    def answer_to(self, url: str, label: str) -> dict[str, str]:
        """Open a provider's page, and return the answer with its state; any other request is ignored."""
        import webbrowser

        self.state = dict(parse_qsl(urlsplit(url).query))["state"]
        _show(f"Log in in your browser; if no window opens there: {url}")
        webbrowser.open(url)
        until = time.monotonic() + _LOGIN_SECONDS
        while not self.answer and time.monotonic() < until:
            self.handle_request()
        if "code" in self.answer:
            return self.answer
        words = filter(None, map(self.answer.get, ("error", "error_description")))
        why = redacted_line(" ".join(words)) or "no answer"
        raise AuthenticationError(f"The {label} failed: {why}.", "Try again.")


class _Redirected(BaseHTTPRequestHandler):
    timeout = 5.0
    server: Redirect

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        answer = dict(parse_qsl(query))
        is_ours = path == "/callback" and compare_digest(
            answer.get("state", "").encode(), self.server.state.encode()
        )
        if not is_ours:
            self.send_error(404)
            return

        self.server.answer = answer
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        text = "You are logged in." if "code" in answer else "The login failed."
        self.wfile.write(f"{text} You can close this page.".encode())

    def log_message(self, *_: Any) -> None:
        """Write nothing: the address has the code."""


def _show(text: str) -> None:
    sys.stdout.write(f"{inert(text)}\n")
    sys.stdout.flush()


class KeyringUnavailableError(Exception):
    """The keyring can't be used. Says why in our words, because the keyring's own may contain secrets."""


def keyring_get(base_url: str, user: str) -> str:
    """Return a user's secret for an address from the keyring; empty if there is none."""
    return (
        _use_keyring(lambda keyring: keyring.get_password(_entry(base_url), user)) or ""
    )


def keyring_set(base_url: str, user: str, secret: Hidden) -> None:
    """Put a token into the keyring; refuses a keyring that stores it as plain text."""

    def put(keyring: Any) -> None:
        used = keyring.get_keyring()
        for backend in getattr(used, "backends", None) or [used]:
            kind = type(backend)
            if (
                kind.__module__.startswith("keyrings.alt")
                or "plain" in kind.__name__.lower()
            ):
                raise KeyringUnavailableError(
                    f"{kind.__name__} stores secrets as plain text that can be read"
                )

        keyring.set_password(_entry(base_url), user, secret.reveal())

    _use_keyring(put)


def _entry(base_url: str) -> str:
    # The address is part of the name, so that no token is sent to another service.
    return f"jupyter_funcs {base_url}"


def _use_keyring(work: Callable[[Any], T]) -> T:
    try:
        import keyring

        return in_thread(lambda: work(keyring), "token").result(_KEYRING_SECONDS)
    except KeyringUnavailableError as error:
        problem = str(error)
    except ModuleNotFoundError:
        problem = "not installed: pip install 'jupyter-funcs[keyring]'"
    except TimeoutError:
        problem = f"no answer within {_KEYRING_SECONDS:g} s; is it locked?"
    except Exception as error:  # noqa: BLE001  # each system's keyring raises its own errors
        problem = _KEYRING_PROBLEMS.get(type(error).__name__, type(error).__name__)

    raise KeyringUnavailableError(problem)


def ask(prompt: str, what: str, otherwise: FuncsError | None = None) -> str:
    """Ask the user for a text; raise `otherwise` if nobody can answer."""
    return _ask(lambda: input(prompt), what, otherwise).reveal().strip()


def ask_hidden(prompt: str, what: str, otherwise: FuncsError | None = None) -> Hidden:
    """Ask for a text without showing it; as `ask`."""
    # Looked up in its module, where ipykernel replaces it while a cell runs.
    return _ask(lambda: getpass.getpass(prompt), what, otherwise)


def ask_password(user: str) -> Hidden:
    """Ask for a password, or read the first line of standard input if that isn't a terminal."""
    if sys.stdin is not None and not sys.stdin.isatty():
        answer = Hidden(sys.stdin.readline().rstrip("\r\n"))
        if answer.reveal():
            return answer
    return ask_hidden(f"Password of {user}: ", f"the password of {user}")


def _ask(show: Callable[[], str], what: str, otherwise: FuncsError | None) -> Hidden:
    try:
        with warnings.catch_warnings():
            # Where the answer would be shown, don't ask.
            warnings.simplefilter("error", getpass.GetPassWarning)
            answer = Hidden(show())
    except (EOFError, OSError, NotImplementedError, getpass.GetPassWarning):
        # The third: the front end has no input.
        nobody = ConfigError(
            f"Cannot ask for {what}: nobody can answer here.",
            "Provide the token in another way, for instance with token_env in the profile.",
        )
        raise otherwise or nobody from None

    if not answer.reveal().strip():
        raise ConfigError(f"Nothing was entered for {what}.", "Try again.")
    return answer
