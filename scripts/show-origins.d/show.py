# show.py PHOTOD WORK : see scripts/show-origins.
#
# Whether something was written is read from the daemon, not from the page: a page can't read the responses to some of
# its requests, but the daemon may have acted on them.
import http.server
import json
import os
import re
import struct
import subprocess
import sys
import threading
import urllib.request
import zlib

from browser import Browser

photod, work = sys.argv[1:]

# Each returns a promise of a text. DAEMON and ASSET are replaced.
SHOW = """new Promise(resolve => {
  const image = new Image();
  image.onload = () => resolve('shown'); image.onerror = () => resolve('broken');
  ATTRIBUTE;
  image.src = 'DAEMON/v1/assets/ASSET/image?targetSize=32x32';
})"""
FETCH = "fetch('DAEMON/v1/PATH', OPTIONS).then(r => r.type == 'opaque' ? 'sent' : String(r.status), () => 'blocked')"
CHANGE = json.dumps(json.dumps({"changes": [{"type": "createAlbum", "title": "TITLE"}]}))


def fetch(path, options="{}"):
    return FETCH.replace("PATH", path).replace("OPTIONS", options)


def post(path, body, mode="cors", content_type="application/json"):
    return fetch(path, f"{{method: 'POST', mode: '{mode}', headers: {{'Content-Type': '{content_type}'}}, body: {body}}}")


# The title of each row, its script, whether it writes, and the expected results: of an origin in no setting, a reading
# and a writing origin. A text/plain request without CORS needs no preflight, so it reaches the daemon; "sent" means that
# the page gets a response that it can't read.
ROWS = [
    ("<img>", SHOW.replace("ATTRIBUTE", ""), False, ["broken", "broken", "broken"]),
    ("<img crossorigin>", SHOW.replace("ATTRIBUTE", "image.crossOrigin = 'anonymous'"), False,
     ["broken", "shown", "shown"]),
    ("fetch of JSON", fetch("assets"), False, ["blocked", "200", "200"]),
    ("fetch of JSON, no-cors", fetch("assets", "{mode: 'no-cors'}"), False, ["blocked", "blocked", "blocked"]),
    ("a fetch result (POST)", post("fetchResults", "'{}'"), False, ["blocked", "201", "201"]),
    ("a change list (POST)", post("changes", CHANGE), True, ["blocked", "blocked", "200, written"]),
    ("a change list as text, no-cors", post("changes", CHANGE, "no-cors", "text/plain"), True,
     ["blocked", "sent", "sent"]),
    ("an upload (POST)", post("uploads", "'x'", content_type="application/octet-stream"), True,
     ["blocked", "blocked", "201, written"]),
]
SETTINGS = [None, "corsOrigins", "corsWriteOrigins"]


def png(width, height):
    """Returns a grey picture."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + b"\x80" * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>A page of another origin</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Daemon:
    def __init__(self, name, setting, origins):
        self.folder = f"{work}/{name}"
        os.makedirs(self.folder + "/library")
        with open(self.folder + "/library/photograph.png", "wb") as file:
            file.write(png(64, 48))
        chosen = ["--set", f"{setting}={','.join(origins)}"] if setting else []
        self.process = subprocess.Popen(
            [photod, "serve", "--library", self.folder + "/library", "--data", self.folder + "/data",
             "--listen", "127.0.0.1:0", "--log-level", "error", "--set", "accessLog=false",
             "--set", "scan.settleSeconds=0"] + chosen, stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline())[0]
        while not self.get("/readyz")["firstScan"]["complete"]:
            pass

    def get(self, path):
        return json.load(urllib.request.urlopen(self.url + path))

    def written(self):
        """Returns the number of albums and staged uploads."""
        staged = self.folder + "/library/.photod-staged"
        uploads = os.listdir(staged) if os.path.isdir(staged) else []
        return len(self.get("/v1/collections?type=album")["collections"]) + len(uploads)

    def close(self):
        self.process.terminate()
        self.process.wait()


def results(browser, daemon, page):
    """Returns the result of each row in a page."""
    browser.open(page)
    asset = daemon.get("/v1/assets")["assets"][0]["localIdentifier"]
    found = []
    for _, script, writes, _ in ROWS:
        before = daemon.written()
        text = browser.evaluate(script.replace("DAEMON", daemon.url).replace("ASSET", asset))
        if daemon.written() != before:
            text += ", written"
        found.append(text)
    return found


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
# The daemon is at 127.0.0.1: another port of it is the same site, and localhost is another site.
pages = {"another port": f"http://127.0.0.1:{server.server_port}", "another site": f"http://localhost:{server.server_port}"}
columns = {}
browser = Browser(work + "/profile", 800, 600)
try:
    for setting in SETTINGS:
        daemon = Daemon(setting or "none", setting, list(pages.values()))
        try:
            for name, page in pages.items():
                columns[name, setting] = results(browser, daemon, page + "/")
        finally:
            daemon.close()
finally:
    browser.close()
    server.shutdown()

wrong = []
for name, page in pages.items():
    print(f"page at {name} ({page})\n")
    table = [["request of the page"] + [f"in {setting}" if setting else "in no setting" for setting in SETTINGS]]
    for index, (title, _, _, expected) in enumerate(ROWS):
        found = [columns[name, setting][index] for setting in SETTINGS]
        table.append([title] + found)
        wrong += [f"{title}, {name}, {setting}: {a}, expected {b}" for setting, a, b in zip(SETTINGS, found, expected) if a != b]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    table.insert(1, ["-" * width for width in widths])
    for row in table:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |")
    print()
if wrong:
    raise SystemExit("\n".join(wrong))
