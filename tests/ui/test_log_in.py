"""Logging in, in a browser, through nginx with TLS as `docs/deploy/nginx.conf` has it; and by a
provider of accounts."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.ui.conftest import PATIENCE_MS, ROOT, SMALL, free_port

DEPLOY = ROOT / "docs" / "deploy"
CERTIFICATE = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"


@contextmanager
def running(command: list[str], folder: Path, port: int, **more: str) -> Iterator[None]:
    """A command that serves, from when it listens."""
    log = folder / f"{Path(command[0]).name}.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **more},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + 60
        while not listening(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(60)
    assert "Traceback" not in log.read_text()


def listening(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(folder: Path, port: int, *given: str, **more: str) -> Iterator[None]:
    """The explorer as `start.sh` serves it, with a state and a cache of its own."""
    command = ["docs/deploy/start.sh", "--address", "127.0.0.1", "--port", str(port), *given]
    state = {"STATE_DIRECTORY": str(folder / "state"), "SPILLWAY_CACHE": str(folder / "cache")}
    panel = shutil.which("panel") or str(ROOT / ".venv/bin/panel")
    with running(command, folder, port, PANEL=panel, **state, **more):
        yield


@contextmanager
def proxied(folder: Path, port: int) -> Iterator[str]:
    """The documented nginx, on ports that anybody may have; its address."""
    if not all(map(shutil.which, ("nginx", "openssl"))):
        pytest.skip("nginx and openssl are not installed: apt-get install nginx openssl")
    secure, plain = free_port(), free_port()
    files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run([*CERTIFICATE.split(), *files], check=True, capture_output=True)
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    for ours, theirs in (
        ("listen 443 ssl", f"listen 127.0.0.1:{secure} ssl"),
        ("listen 80", f"listen 127.0.0.1:{plain}"),
        ("127.0.0.1:5006", f"127.0.0.1:{port}"),
        ("/etc/ssl/spillway", str(folder)),
        ("spillway.example.org", "localhost"),
    ):
        assert ours in text
        text = text.replace(ours, theirs)
    kept = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMPORARY)
    whole = f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\nhttp {{\n{kept}\n"
    (folder / "nginx.conf").write_text(f"{whole}access_log off;\n{text}\n}}\n")
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    with running(command, folder, secure):
        yield f"https://localhost:{secure}"


TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor who takes a certificate that nobody has signed."""
    made = browser.new_context(ignore_https_errors=True)
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


def test_by_name_and_password_through_nginx(tmp_path: Path, context: BrowserContext) -> None:
    (tmp_path / "users.json").write_text(json.dumps({"ada": "correct horse"}))
    port = free_port()
    how = ["--prefix", "spillway", "--use-xheaders", "--basic-auth", str(tmp_path / "users.json")]
    how += ["--basic-login-template", "app/assets/login.html"]
    with proxied(tmp_path, port) as address:
        host = urlsplit(address).netloc
        with served(tmp_path, port, *how, "--allow-websocket-origin", host):
            page = context.new_page()
            foreign = urlencode({"next": "https://other.example/"})
            page.goto(f"{address}/spillway/login?{foreign}")
            page.fill("[name=username]", "ada")
            page.fill("[name=password]", "wrong")
            page.click("button")
            assert "Invalid username" in page.locator("[role=alert]").inner_text()
            page.goto(f"{address}/spillway/main{SMALL}")
            assert "/spillway/login" in page.url
            page.fill("[name=username]", "ada")
            page.fill("[name=password]", "correct horse")
            page.click("button")
            page.wait_for_url(f"{address}/spillway/main?*")
            page.locator(".address-map").wait_for()
            assert "squeezenet1_1" in page.url
            cookies = {str(cookie["name"]): cookie for cookie in context.cookies()}
            assert {"user", "id_token"} <= set(cookies)
            for cookie in cookies.values():
                assert (cookie["secure"], cookie["httpOnly"]) == (True, True)
                assert cookie["sameSite"] == "Lax"


class Provider(http.server.BaseHTTPRequestHandler):
    """A provider of accounts that knows Ada, and asks her nothing."""

    def do_GET(self) -> None:
        asked = {name: value[0] for name, value in parse_qs(urlsplit(self.path).query).items()}
        if self.path.startswith("/authorize"):
            back = urlencode({"code": "of Ada", "state": asked["state"]})
            self._say(302, "", Location=f"{asked['redirect_uri']}?{back}")
        else:
            self._say(200, json.dumps({"email": "ada@example.org"}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        parts = ({"alg": "none"}, {"email": "ada@example.org"}, {})
        token = ".".join(urlsafe_b64encode(json.dumps(p).encode()).decode() for p in parts)
        self._say(200, json.dumps({"access_token": token, "id_token": token, "expires_in": 900}))

    def _say(self, status: int, text: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_by_a_provider_of_accounts(tmp_path: Path, context: BrowserContext) -> None:
    """The way back from it ends where one wanted to go, and nowhere else."""
    if find_spec("cryptography") is None:
        pytest.skip("Panel's OAuth needs a package: pip install cryptography")
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    accounts, port = f"http://127.0.0.1:{provider.server_port}", free_port()
    address = f"http://localhost:{port}"
    how = ["--oauth-provider", "generic", "--allow-websocket-origin", f"localhost:{port}"]
    settings = {
        "PANEL_OAUTH_KEY": "spillway",
        "PANEL_OAUTH_SECRET": "of this test",
        "PANEL_OAUTH_REDIRECT_URI": f"{address}/login",
        "PANEL_OAUTH_ENCRYPTION": urlsafe_b64encode(bytes(range(32))).decode(),
        "PANEL_OAUTH_AUTHORIZE_URL": f"{accounts}/authorize",
        "PANEL_OAUTH_TOKEN_URL": f"{accounts}/token",
        "PANEL_OAUTH_USER_URL": f"{accounts}/user",
        "PANEL_USER_KEY": "email",
    }
    with served(tmp_path, port, *how, **settings):
        page = context.new_page()
        page.goto(f"{address}/main{SMALL}")
        page.wait_for_url(re.compile(rf"{address}/main\?.*squeezenet1_1"))
        page.locator(".address-map").wait_for()
        assert {cookie["sameSite"] for cookie in context.cookies()} == {"Lax"}
        page.goto(f"{address}/login?{urlencode({'next': 'https://other.example/'})}")
        assert page.url.startswith(address)
    provider.shutdown()
    provider.server_close()
