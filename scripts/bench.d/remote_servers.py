"""The servers of scripts/bench.d/remote.py: an origin or a bucket in memory, and a proxy with a delay and a bandwidth."""
import asyncio, hashlib, http.server, json, re, socketserver, threading, time, urllib.parse
from xml.sax.saxutils import escape

PREFIX = "/album"


class Origin:
    """Files in memory, as a web server with a manifest, or as the bucket `shared` with as much of S3 as photod uses."""

    def __init__(self, files, is_bucket=False):
        self.files = {name: (content, '"%s"' % hashlib.md5(content).hexdigest()) for name, content in files.items()}
        self.is_bucket = is_bucket
        self.lock = threading.Lock()
        self.sent_bytes = self.ranges = self.downloads = 0

    def __enter__(self):
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                origin.answer(self)

            do_HEAD = do_PUT = do_GET

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.server_address = f"http://127.0.0.1:{self.port}"
        self.address = self.server_address + PREFIX
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        path, _, query = request.path.partition("?")
        key = urllib.parse.unquote(path).removeprefix("/shared" if self.is_bucket else PREFIX).lstrip("/")
        if request.command == "PUT":
            content = request.rfile.read(int(request.headers["Content-Length"]))
            self.files[key] = (content, '"%s"' % hashlib.md5(content).hexdigest())
            return self.send(request, 200, b"", {"ETag": self.files[key][1]})
        if self.is_bucket and not key:
            return self.send(request, 200, self.list(urllib.parse.parse_qs(query)), {})
        if key == "manifest.json":
            rows = [{"path": name, "size": len(file), "etag": tag} for name, (file, tag) in self.files.items()]
            return self.send(request, 200, json.dumps(rows).encode(), {})
        if key not in self.files:
            return self.send(request, 404, b"", {})
        content, tag = self.files[key]
        fields = {"ETag": tag, "Last-Modified": "Fri, 24 May 2013 00:00:00 GMT"}
        if request.headers.get("If-Match", tag) != tag:
            return self.send(request, 412, b"", {})
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if request.command == "GET":
            with self.lock:
                self.ranges += bool(found)
                self.downloads += not found
        if not found:
            return self.send(request, 200, content, fields, counts=True)
        first, last = int(found[1]), min(int(found[2] or len(content)), len(content) - 1)
        fields["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self.send(request, 206, content[first:last + 1], fields, counts=True)

    def send(self, request, status, content, fields, counts=False):
        request.send_response(status)
        for name, value in fields.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            if counts:
                with self.lock:
                    self.sent_bytes += len(content)
            try:
                request.wfile.write(content)
            except OSError:
                request.close_connection = True

    def list(self, query):
        prefix = query.get("prefix", [""])[0]
        rows = "".join(
            f"<Contents><Key>{escape(urllib.parse.quote(name, safe=''))}</Key>"
            f"<LastModified>2013-05-24T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(tag)}</ETag><Size>{len(file)}</Size></Contents>"
            for name, (file, tag) in sorted(self.files.items()) if name.startswith(prefix))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode()


class ShapingProxy:
    """Forwards connections to a port of this machine. Bytes to the client share one bandwidth, each round trip takes
    `delay_ms` longer, and so does the opening of a connection."""

    PIECE = 16_384
    # More than bandwidth times delay, as a TCP window is.
    WINDOW = 1 << 20

    def __init__(self, port, delay_ms, megabits):
        self.target, self.delay, self.rate = port, delay_ms / 1000, megabits * 1e6 / 8
        self.free_at = 0.0
        self.loop = asyncio.new_event_loop()

    def __enter__(self):
        ready = threading.Event()

        def run():
            asyncio.set_event_loop(self.loop)
            server = self.loop.run_until_complete(asyncio.start_server(self.connected, "127.0.0.1", 0, backlog=256))
            self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PREFIX}"
            ready.set()
            self.loop.run_forever()
            # Connections that daemons have kept open.
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            server.close()
            self.loop.close()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        ready.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    async def connected(self, reader, writer):
        try:
            await asyncio.sleep(self.delay)
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(
                self.forward(reader, up_writer, is_shaped=False), self.forward(up_reader, writer, is_shaped=True))
        except (OSError, asyncio.CancelledError):
            writer.close()

    async def forward(self, reader, writer, is_shaped):
        """Half of the delay in each direction."""
        pieces = asyncio.Queue(maxsize=self.WINDOW // self.PIECE)

        async def receive():
            while True:
                try:
                    piece = await reader.read(self.PIECE)
                except OSError:
                    piece = b""
                at = self.loop.time()
                if is_shaped:
                    self.free_at = at = max(at, self.free_at) + len(piece) / self.rate
                await pieces.put((at + self.delay / 2, piece))
                if not piece:
                    return

        receiving = asyncio.create_task(receive())
        try:
            while True:
                at, piece = await pieces.get()
                await asyncio.sleep(max(0, at - self.loop.time()))
                if not piece:
                    break
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        finally:
            receiving.cancel()
            writer.close()
