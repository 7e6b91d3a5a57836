"""check.py ROOT BINARIES : the checks of scripts/check-proxies."""
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

from servers import CLIENT, HOST, Server, free_port, nginx, paused, varnish, varnish_parameters

root, binaries = Path(sys.argv[1]), Path(sys.argv[2])
# The limit of an upload.
UPLOAD_BYTES = 1_000_000
# http.bodyTimeoutSeconds of the daemon: a stalled upload gets 408.
BODY_TIMEOUT_SECONDS = 5
# An original that is much larger than the buffers of the sockets between photod and a client.
LARGE_BYTES = 64 << 20
# The address that a client claims to have.
FORGED = "203.0.113.7"
# How much later than on a direct connection an event may arrive through a proxy.
EVENT_DELAY_SECONDS = 0.5

failures = 0


def check(name, condition, detail=""):
    global failures
    failures += not condition
    print(f"{'ok' if condition else 'FAILED'}: {name}{f' ({detail})' if detail else ''}", flush=True)


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
    """An event must not arrive much later through the proxy than on a direct connection."""
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


def ranges(proxy, original, frame):
    unversioned = re.sub("&v=[^&]*", "", frame)
    several = "bytes=0-9,20-29"
    for method, target, field, statuses in [
        ("GET", original, "bytes=10-19", [206]), ("GET", original, several, [206]),
        ("GET", frame, several, [200, 206]), ("GET", unversioned, several, [200, 206]),
        ("GET", frame, "lines=0-9", [200]),
        ("HEAD", original, "bytes=0-9", [200]), ("HEAD", frame, "bytes=0-9", [200]),
        ("HEAD", unversioned, "bytes=0-9", [200]), ("OPTIONS", "/v1/assets", several, [204]),
    ]:
        response, _ = proxy.ask(target, [f"Range: {field}"], method)
        check(f"{proxy.name}: {method} {target.partition('?')[0]} with {field}", response.status in statuses,
              str(response.status))


def long_query(proxy):
    """A list whose Link field repeats a query of nearly 8 KiB."""
    start = "/v1/assets?limit=1&predicate=originalFilename%20!=%20'"
    response, _ = proxy.ask(start + "(" * (8000 - len(start)) + "'")
    check(f"{proxy.name}: a list with a long query has its Link field",
          response.status == 200 and len(response.headers["Link"] or "") > 8_000, str(response.status))


def slow_readers(proxy, daemon, targets, fields):
    """Clients that stop reading after the first bytes: how much the proxy has read for them by then."""
    connections = [proxy.send("GET", target, fields) for target in targets]
    for connection in connections:
        connection.recv(1024)
    # A proxy without a limit reads the whole response in this time.
    time.sleep(1)
    with paused(daemon):
        for target, connection in zip(targets, connections):
            connection.settimeout(1)
            held = 0
            with contextlib.suppress(TimeoutError):
                while more := connection.recv(1 << 20):
                    held += len(more)
            connection.close()
            check(f"{proxy.name}: photod waits for a slow reader of {target}", 0 < held < LARGE_BYTES // 2,
                  f"{held} of {LARGE_BYTES} bytes were sent")


def session(proxy, daemon, original, secret):
    body = json.dumps({"token": secret}).encode()
    signed_in, _ = proxy.ask(
        "/v1/session", ["Content-Type: application/json", f"Content-Length: {len(body)}"], "POST", body)
    cookie = (signed_in.headers["Set-Cookie"] or "").partition(";")[0]
    response, content = proxy.ask(original, [f"Cookie: {cookie}"])
    whole = daemon.ask(original, [f"Authorization: Bearer {secret}"])[1]
    check(f"{proxy.name}: a session opens an original", response.status == 200 and content == whole,
          f"{signed_in.status}, {response.status}")


def addresses(proxy, daemon, original):
    forged = [f"X-Forwarded-For: {FORGED}", f"Forwarded: for={FORGED}"]
    # Two requests at once. A proxy that makes the first one a pipe would not see the second.
    connection = proxy.send("GET", original, forged)
    more = "\r\n".join(["GET /v1/assets HTTP/1.1", f"Host: {HOST}", "Connection: close", *forged, "", ""])
    with contextlib.suppress(OSError):
        connection.sendall(more.encode())
        while connection.recv(65536):
            pass
    connection.close()
    targets = ["/v1/collections", original]
    for target in targets:
        proxy.ask(target, forged)
    end = time.monotonic() + 10
    found = {}
    while not all(found.get(target) for target in targets) and time.monotonic() < end:
        time.sleep(0.2)
        requests = [line for line in daemon.log.read_text().splitlines()
                    if "forwarded" in line and ("unix" in line) == (proxy.name == "nginx")]
        found = {target: [line for line in requests if f'"path":"{target}"' in line] for target in targets}
    for target, requests_of_target in found.items():
        check(f"{proxy.name}: photod logs the client's address for {target}",
              bool(requests_of_target) and all(CLIENT in line for line in requests_of_target))
    check(f"{proxy.name}: photod logs no forged address", not any(FORGED in line for line in requests))


def stalled_uploads(proxies, secret):
    """Uploads of which only the first part is sent."""
    fields = [f"Authorization: Bearer {secret}", "Content-Type: image/jpeg", "Content-Length: 500000"]
    return [proxy.send("POST", "/v1/assets?filename=stalled.jpg", fields, bytes(100_000)) for proxy in proxies]


def refused_as_stalled(proxy, connection):
    response = http.client.HTTPResponse(connection, method="POST")
    try:
        response.begin()
        status = response.status
    except (OSError, http.client.HTTPException) as error:
        status = repr(error)
    connection.close()
    check(f"{proxy.name}: a stalled upload gets 408", status == 408, str(status))


def pipe_timeout():
    """`stalled_uploads` needs a short timeout of the daemon; this compares the values of the samples."""
    settings = json.loads((root / "config/photod.json").read_text())
    pipe = int(varnish_parameters(root).get("pipe_timeout", 60))
    check("varnish: pipe_timeout is longer than http.bodyTimeoutSeconds", pipe > settings["http"]["bodyTimeoutSeconds"],
          f"{pipe} s")


with tempfile.TemporaryDirectory(prefix="photod-proxies-") as name:
    folder = Path(name)
    library = folder / "library"
    subprocess.run([binaries / "photod-demo", "library", library, "--scale", "0.2"], check=True, capture_output=True)
    # Bytes after the end of a JPEG don't change the picture.
    large = library / "large.jpeg"
    shutil.copy(next(path for path in sorted(library.rglob("*.jpg"))), large)
    os.truncate(large, LARGE_BYTES)
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
            "--set", f"http.bodyTimeoutSeconds={BODY_TIMEOUT_SECONDS}",
        ], port, folder, environment=environment)
        servers.append(daemon)
        proxies = []
        for make, argument in ((nginx, socket_file), (varnish, port)):
            part = folder / make.__name__
            part.mkdir()
            proxies.append(make(root, part, argument))
            servers.append(proxies[-1])
        assets = json.loads(daemon.ask("/v1/assets?limit=50")[1])["assets"]
        asset = next(asset for asset in assets if asset["relativePath"].endswith(".jpg"))
        path = f"/v1/assets/{asset['localIdentifier']}/image"
        original = f"/v1/assets/{asset['localIdentifier']}/data"
        version = urllib.parse.quote(asset["contentVersion"])
        for proxy in proxies:
            frames(proxy, daemon, f"{path}?targetSize=120x120&v={version}")
            if proxy.tls:
                http2(proxy, daemon, f"{path}?targetSize=120x120&v={version}")
            variants(proxy, daemon, f"{path}?targetSize=130x130&format=auto&v={version}")
            ranges(proxy, original, f"{path}?targetSize=120x120&v={version}")
            long_query(proxy)
            events(proxy, daemon, library)
            addresses(proxy, daemon, original)
        created = subprocess.run(
            [binaries / "photod", "token", "create", *options, "--scope", "read,write", "--expires", "1d"], check=True,
            capture_output=True, text=True, env=environment)
        secret = created.stdout.split()[-1]
        # The daemon reads new tokens once a second.
        while daemon.ask("/v1/assets?limit=1")[0].status != 401:
            time.sleep(0.2)
        stalled = stalled_uploads(proxies, secret)
        large_identifier = next(
            asset["localIdentifier"] for asset in assets if asset["relativePath"] == large.name)
        for proxy in proxies:
            upload(proxy, daemon, library, secret)
            refused, _ = proxy.ask("/v1/assets?limit=1")
            check(f"{proxy.name}: a request without a token is refused", refused.status == 401)
            version_two, _ = proxy.ask(
                f"{path}?targetSize=140x140&v={version}", [f"Authorization: Bearer {secret}"])
            check(
                f"{proxy.name}: with a token a frame is private",
                version_two.status == 200 and version_two.headers["Cache-Control"].startswith("private"))
            session(proxy, daemon, original, secret)
        for proxy, connection in zip(proxies, stalled):
            refused_as_stalled(proxy, connection)
        pipe_timeout()
        for proxy in proxies:
            slow_readers(proxy, daemon, [
                f"/v1/assets/{large_identifier}/data", f"/v1/assets/{large_identifier}/d%61ta",
                f"/v1/archive?assets={large_identifier}",
            ], [f"Authorization: Bearer {secret}"])
    finally:
        for server in reversed(servers):
            server.stop()
    versions = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip() + ", " + \
        subprocess.run(["varnishd", "-V"], capture_output=True, text=True).stderr.splitlines()[0]
    print(versions)
sys.exit(f"{failures} checks failed" if failures else 0)
