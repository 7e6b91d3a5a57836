"""check.py ROOT BINARIES : the checks of scripts/check-proxies."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

root, binaries = Path(sys.argv[1]), Path(sys.argv[2])
HOST = "photos.example"
# A client's address that is not the proxy's. Every address in 127.0.0.0/8 is this machine.
CLIENT = "127.0.0.9"
# The limit of an upload.
UPLOAD_BYTES = 1_000_000
# How much later than on a direct connection an event may arrive through a proxy.
EVENT_DELAY_SECONDS = 0.5

failures = 0


def check(name, condition, detail=""):
    global failures
    failures += not condition
    print(f"{'ok' if condition else 'FAILED'}: {name}{f' ({detail})' if detail else ''}", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process, and connections to its port."""

    def __init__(self, name, command, port, folder, tls=None, environment=None):
        self.name, self.port, self.tls = name, port, tls
        self.log = folder / f"{name}.log"
        self.process = subprocess.Popen(
            command, stdout=self.log.open("wb"), stderr=subprocess.STDOUT, env=environment, cwd=folder)
        end = time.monotonic() + 60
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    sys.exit(f"{name} does not listen:\n{self.log.read_text()}")
                time.sleep(0.05)

    def connect(self, timeout=30):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout, source_address=(CLIENT, 0))
        return self.tls.wrap_socket(plain, server_hostname=HOST) if self.tls else plain

    def send(self, method, target, fields=(), body=b""):
        """A connection on which this was sent."""
        connection = self.connect()
        lines = [f"{method} {target} HTTP/1.1", f"Host: {HOST}", *fields, "", ""]
        connection.sendall("\r\n".join(lines).encode() + body)
        return connection

    def ask(self, target, fields=(), method="GET", body=b""):
        """The response and its body."""
        connection = self.send(method, target, ["Connection: close", *fields], body)
        response = http.client.HTTPResponse(connection, method=method)
        response.begin()
        content = response.read()
        connection.close()
        return response, content

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", folder / "key", "-out", folder / "certificate", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST}"], check=True, capture_output=True)


def replaced(text, replacements):
    for original, replacement in replacements.items():
        if text.count(original) != 1:
            sys.exit(f"the sample has {original!r} {text.count(original)} times")
        text = text.replace(original, replacement)
    return text


def nginx(folder, daemon_socket):
    certificate(folder)
    temporary = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    port = free_port()
    (folder / "nginx.conf").write_text(replaced((root / "config/nginx.conf").read_text(), {
        "/run/nginx.pid": f"{folder}/pid",
        "\nhttp {": f"\nhttp {{ {temporary}",
        "unix:/run/photod.sock": f"unix:{daemon_socket}",
        "/var/cache/nginx-photod": f"{folder}/cache",
        "listen 80;": f"listen unix:{folder}/http;",
        "listen [::]:80;": "",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
        "listen [::]:443 ssl http2;": "",
        f"/etc/letsencrypt/live/{HOST}/fullchain.pem": f"{folder}/certificate",
        f"/etc/letsencrypt/live/{HOST}/privkey.pem": f"{folder}/key",
    }))
    user = "user root; " if os.getuid() == 0 else ""
    command = ["nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error",
               "-g", f"{user}daemon off; master_process off;"]
    return Server("nginx", command, port, folder, ssl.create_default_context(cafile=folder / "certificate"))


def varnish(folder, daemon_port):
    port = free_port()
    (folder / "photod.vcl").write_text(replaced(
        (root / "config/photod.vcl").read_text(), {'.port = "8080";': f'.port = "{daemon_port}";'}))
    command = ["varnishd", "-F", "-j", "none", "-n", folder / "varnish", "-a", f"127.0.0.1:{port}", "-T", "none",
               "-f", folder / "photod.vcl", "-s", "default,64m"]
    return Server("varnish", command, port, folder)


@contextlib.contextmanager
def paused(daemon):
    """While photod answers nothing: what arrives comes from the proxy."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def frames(proxy, daemon, target):
    whole, body = daemon.ask(target)
    assert whole.status == 200 and whole.headers["Cache-Control"].startswith("public"), (whole.status, whole.headers["Cache-Control"])
    first, first_body = proxy.ask(target)
    check(f"{proxy.name}: a frame passes", first.status == 200 and first_body == body)
    with paused(daemon):
        again, again_body = proxy.ask(target)
    check(f"{proxy.name}: a frame with v= comes from the cache", again.status == 200 and again_body == body)
    part, part_body = proxy.ask(target, ["Range: bytes=10-19"])
    check(
        f"{proxy.name}: a range of it",
        part.status == 206 and part_body == body[10:20] and part.headers["Content-Range"] == f"bytes 10-19/{len(body)}")
    condition, _ = proxy.ask(target, [f"If-None-Match: {first.headers['ETag']}"])
    check(f"{proxy.name}: a condition", condition.status == 304)
    unversioned = re.sub("&v=[^&]*", "", target)
    assert proxy.ask(unversioned)[0].status == 200
    with paused(daemon):
        connection = proxy.send("GET", unversioned, ["Connection: close"])
        connection.settimeout(1)
        try:
            is_stored = bool(connection.recv(1))
        except TimeoutError:
            is_stored = False
        connection.close()
    check(f"{proxy.name}: a frame without v= is not stored", not is_stored)


def http2(proxy, daemon, target):
    """A frame over HTTP/2, which Python's client does not speak."""
    found = subprocess.run(
        ["curl", "-q", "-sS", "--http2", "--noproxy", "*", "--cacert", proxy.log.parent / "certificate", "--resolve",
         f"{HOST}:{proxy.port}:127.0.0.1", "-w", "%{stderr}%{http_version} %{http_code}",
         f"https://{HOST}:{proxy.port}{target}"], capture_output=True)
    check(f"{proxy.name}: the same over HTTP/2", found.stderr == b"2 200" and found.stdout == daemon.ask(target)[1],
          found.stderr.decode())


def variants(proxy, daemon, target):
    """format=auto: one URL, one stored picture for each Accept."""
    wanted = {"image/png": "image/png", "image/jpeg": "image/jpeg", "image/png;q=0.1, image/jpeg": "image/jpeg"}
    found, bodies = {}, {}
    for accept in wanted:
        response, bodies[accept] = proxy.ask(target, [f"Accept: {accept}"])
        found[accept] = response.headers["Content-Type"]
        vary = ", ".join(response.headers.get_all("Vary") or [])
        check(f"{proxy.name}: format=auto has Vary: Accept", "Accept" in [name.strip() for name in vary.split(",")])
    check(f"{proxy.name}: format=auto gives each client its format", found == wanted, str(found))
    with paused(daemon):
        for accept, type in wanted.items():
            response, body = proxy.ask(target, [f"Accept: {accept}"])
            check(
                f"{proxy.name}: and the same again from the cache, for {accept}",
                response.headers["Content-Type"] == type and body == bodies[accept])


def lines(connection):
    buffer = b""
    while True:
        more = connection.recv(65536)
        if not more:
            return
        buffer += more
        *complete, buffer = buffer.split(b"\n")
        yield from complete


def events(proxy, daemon, library, fields=()):
    """The time at which an event arrives through the proxy, beside its time on a direct connection."""
    streams = []
    for server in (daemon, proxy):
        connection = server.send("GET", "/v1/changes/stream", fields)
        reader = lines(connection)
        # The stream begins with its position.
        next(line for line in reader if line.startswith(b"id:"))
        streams.append((connection, reader))
    source = next(path for path in sorted(library.rglob("*.jpg")))
    shutil.copy(source, library / f"event-{proxy.name}.jpg")
    arrived = []
    for _, reader in streams:
        next(line for line in reader if line.startswith(b"data:"))
        arrived.append(time.monotonic())
    delay = arrived[1] - arrived[0]
    check(f"{proxy.name}: an event arrives at once", delay < EVENT_DELAY_SECONDS, f"{max(0, delay) * 1000:.0f} ms later")
    for connection, _ in streams:
        connection.close()


def chunk(piece):
    return f"{len(piece):X}\r\n".encode() + piece + b"\r\n"


def received_bytes(daemon, library):
    """The size of the largest file in the library that photod has open and that has no name yet."""
    sizes = [0]
    for file in Path(f"/proc/{daemon.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(file).startswith(str(library)) and file.stat().st_nlink == 0:
                sizes.append(file.stat().st_size)
    return max(sizes)


def upload(proxy, daemon, library, secret):
    picture = next(path for path in sorted(library.rglob("*.jpg"))).read_bytes()
    # Bytes after the end of a JPEG make another file of it.
    picture += proxy.name.encode() + bytes(200_000)
    fields = [f"Authorization: Bearer {secret}", "Transfer-Encoding: chunked", "Connection: close"]
    half = len(picture) // 2
    connection = proxy.send("POST", "/v1/assets", fields, chunk(picture[:half]))
    end = time.monotonic() + 10
    while (received := received_bytes(daemon, library)) < half * 9 // 10 and time.monotonic() < end:
        time.sleep(0.02)
    check(f"{proxy.name}: half of an upload is on the disk before the client sends the rest", received >= half * 9 // 10,
          f"{received} of {half} bytes")
    connection.sendall(chunk(picture[half:]) + b"0\r\n\r\n")
    response = http.client.HTTPResponse(connection, method="POST")
    response.begin()
    response.read()
    check(f"{proxy.name}: the upload succeeds", response.status == 201, str(response.status))
    # The end of this body is never sent.
    connection = proxy.send("POST", "/v1/assets", fields, chunk(bytes(UPLOAD_BYTES + 1)))
    response = http.client.HTTPResponse(connection, method="POST")
    response.begin()
    content = response.read()
    connection.close()
    is_problem = response.headers["Content-Type"] == "application/problem+json"
    problem = json.loads(content)["type"] if is_problem else ""
    check(f"{proxy.name}: a refusal arrives before the upload is complete", problem == "/problems/file-too-large",
          f"{response.status} {problem}")


def addresses(proxy, daemon):
    marker = f"/v1/assets?limit=1&marker={proxy.name}"
    proxy.ask(marker, ["X-Forwarded-For: 203.0.113.7", "Forwarded: for=203.0.113.7"])
    end = time.monotonic() + 10
    found = []
    while not found and time.monotonic() < end:
        time.sleep(0.2)
        found = [line for line in daemon.log.read_text().splitlines()
                 if "forwardedFor" in line and ("unix" in line) == (proxy.name == "nginx")]
    check(
        f"{proxy.name}: photod logs the client's address and no forged one",
        bool(found) and all(CLIENT in line and "203.0.113.7" not in line for line in found), found[-1] if found else "")


with tempfile.TemporaryDirectory(prefix="photod-proxies-") as name:
    folder = Path(name)
    library = folder / "library"
    subprocess.run([binaries / "photod-demo", "library", library, "--scale", "0.2"], check=True, capture_output=True)
    options = ["--library", library, "--data", folder / "data"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PHOTOD_")}
    environment |= {"PHOTOD_SCAN_SETTLE_SECONDS": "0"}
    subprocess.run([binaries / "photod", "scan", *options], check=True, capture_output=True, env=environment)
    port, socket_file = free_port(), folder / "socket"
    servers = []
    try:
        daemon = Server("photod", [
            binaries / "photod", "serve", *options, "--listen", f"127.0.0.1:{port}", "--listen", f"unix:{socket_file}",
            "--allow-anonymous", "--set", "trustedProxies=unix,127.0.0.1", "--set", f"allowedHosts={HOST}",
            "--set", "cache.allowPublic=true", "--set", f"upload.fileBytes={UPLOAD_BYTES}", "--set", "upload.minimumFreeBytes=0",
        ], port, folder, environment=environment)
        servers.append(daemon)
        proxies = []
        for make, argument in ((nginx, socket_file), (varnish, port)):
            part = folder / make.__name__
            part.mkdir()
            proxies.append(make(part, argument))
            servers.append(proxies[-1])
        assets = json.loads(daemon.ask("/v1/assets?limit=50")[1])["assets"]
        asset = next(asset for asset in assets if asset["relativePath"].endswith(".jpg"))
        path = f"/v1/assets/{asset['localIdentifier']}/image"
        version = urllib.parse.quote(asset["contentVersion"])
        for proxy in proxies:
            frames(proxy, daemon, f"{path}?targetSize=120x120&v={version}")
            if proxy.tls:
                http2(proxy, daemon, f"{path}?targetSize=120x120&v={version}")
            variants(proxy, daemon, f"{path}?targetSize=130x130&format=auto&v={version}")
            events(proxy, daemon, library)
            addresses(proxy, daemon)
        created = subprocess.run(
            [binaries / "photod", "token", "create", *options, "--scope", "read,write", "--expires", "1d"], check=True,
            capture_output=True, text=True, env=environment)
        secret = created.stdout.split()[-1]
        # The daemon reads new tokens once a second.
        while daemon.ask("/v1/assets?limit=1")[0].status != 401:
            time.sleep(0.2)
        for proxy in proxies:
            upload(proxy, daemon, library, secret)
            refused, _ = proxy.ask("/v1/assets?limit=1")
            check(f"{proxy.name}: a request without a token is refused", refused.status == 401)
            version_two, _ = proxy.ask(
                f"{path}?targetSize=140x140&v={version}", [f"Authorization: Bearer {secret}"])
            check(
                f"{proxy.name}: with a token a frame is private",
                version_two.status == 200 and version_two.headers["Cache-Control"].startswith("private"))
    finally:
        for server in reversed(servers):
            server.stop()
    versions = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip() + ", " + \
        subprocess.run(["varnishd", "-V"], capture_output=True, text=True).stderr.splitlines()[0]
    print(versions)
sys.exit(f"{failures} checks failed" if failures else 0)
