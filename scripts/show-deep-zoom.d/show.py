# show.py PHOTOD PICTURE OPENSEADRAGON WORK SCREENSHOT : see scripts/show-deep-zoom.
import http.client
import http.server
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse

from browser import Browser
from daemon import Daemon, until

photod, picture, viewer, work, screenshot = sys.argv[1:]

PAGE = """<!doctype html><title>Deep zoom</title>
<style>html, body, #view { margin: 0; width: 100%; height: 100%; background: #222 }</style>
<div id="view"></div><script src="/openseadragon.js"></script><script>
addEventListener('error', event => document.title = 'failed: ' + event.message);
const viewer = OpenSeadragon({
  id: 'view', tileSources: [decodeURIComponent(location.hash.slice(1))], showNavigationControl: false,
  crossOriginPolicy: 'Anonymous', immediateRender: false, animationTime: 0.4 });
viewer.addHandler('open-failed', event => document.title = 'failed: ' + event.message);
viewer.addHandler('tile-load-failed', event => document.title = 'failed: ' + event.message);
const complete = () => viewer.isOpen() && viewer.world.getItemAt(0).getFullyLoaded();
// Moves the view to a centre, in image widths, at a zoom in screen pixels per image pixel.
function move(x, y, pixels) {
  const image = viewer.world.getItemAt(0);
  viewer.viewport.zoomTo(image.imageToViewportZoom(pixels));
  viewer.viewport.panTo(new OpenSeadragon.Point(x, y * image.getBounds().height));
}
</script>"""

# The whole picture first; then closer, to single pixels, and across at that scale.
VIEWS = [(0.5, 0.5, 0.25), (0.3, 0.3, 0.5), (0.3, 0.3, 1.0)] + [(0.3 + 0.05 * i, 0.3 + 0.04 * i, 1.0) for i in range(1, 9)] \
    + [(0.9, 0.9, 1.0), (0.5, 0.5, 2.0)]


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_script = self.path.endswith(".js")
        body = open(viewer, "rb").read() if is_script else PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else float("nan")


def cpu_seconds(process):
    """User and system time of a process and of the children that it waited for."""
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return sum(int(value) for value in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def look(name, daemon, page, info):
    """Moves the view as a person does, in a browser with empty caches."""
    browser = Browser(os.path.join(work, f"profile-{name}"), 1280, 900)
    before = cpu_seconds(daemon.process)
    began = time.monotonic()
    browser.open(f"{page}#{urllib.parse.quote(info, safe='')}")

    def settle():
        start = time.monotonic()
        until(lambda: browser.evaluate("complete()") or browser.evaluate("document.title").startswith("failed"), "a view")
        title = browser.evaluate("document.title")
        if title.startswith("failed"):
            raise SystemExit(title)
        return (time.monotonic() - start) * 1000

    settle()
    times = [(time.monotonic() - began) * 1000]
    for x, y, pixels in VIEWS:
        browser.evaluate(f"move({x}, {y}, {pixels})")
        time.sleep(0.05)
        times.append(settle())
    if screenshot:
        open(screenshot, "wb").write(browser.screenshot())
    browser.evaluate("1")
    sent, tiles, size = {}, [], 0
    for event in browser._events:
        parameters = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent" and "/iiif/3/" in parameters["request"]["url"]:
            sent[parameters["requestId"]] = parameters["timestamp"]
        if event.get("method") == "Network.loadingFinished" and parameters["requestId"] in sent:
            tiles.append((parameters["timestamp"] - sent[parameters["requestId"]]) * 1000)
            size += parameters["encodedDataLength"]
    browser.close()
    print(f"{name:<8} {len(tiles):4} tiles {size / 1e6:6.2f} MB  first view {times[0]:6.0f} ms, others median "
          f"{percentile(times[1:], 50):5.0f}, slowest {max(times[1:]):6.0f} ms  a tile: median {percentile(tiles, 50):6.1f}, "
          f"p99 {percentile(tiles, 99):7.1f} ms  CPU {cpu_seconds(daemon.process) - before:5.2f} s", flush=True)


def fetch_all(name, daemon, identifier, size):
    """Fetches every tile of the largest scale, one after the other."""
    connection = http.client.HTTPConnection(daemon.url.removeprefix("http://"))
    before, times, total = cpu_seconds(daemon.process), [], 0
    for y in range(0, size["height"], 512):
        for x in range(0, size["width"], 512):
            width, height = min(512, size["width"] - x), min(512, size["height"] - y)
            start = time.monotonic()
            connection.request("GET", f"/iiif/3/{identifier}/{x},{y},{width},{height}/{width},{height}/0/default.jpg")
            answer = connection.getresponse()
            total += len(answer.read())
            if answer.status != 200:
                raise SystemExit(f"tile {x},{y}: {answer.status}")
            times.append((time.monotonic() - start) * 1000)
    print(f"{name:<8} {len(times):4} tiles {total / 1e6:6.2f} MB  each: first {times[0]:7.1f}, median "
          f"{percentile(times, 50):6.2f}, p99 {percentile(times, 99):7.2f} ms  CPU {cpu_seconds(daemon.process) - before:5.2f} s",
          flush=True)


def dzsave():
    if not shutil.which("vips"):
        return print("vips is not installed: no comparison with dzsave")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(["vips", "dzsave", picture, os.path.join(work, "pyramid"), "--layout", "iiif3", "--tile-size", "512"],
                   check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    tiles = sum(len(files) for _, _, files in os.walk(os.path.join(work, "pyramid")))
    print(f"{'dzsave':<8} {tiles:4} files, all scales, in advance: {time.monotonic() - start:.2f} s  CPU {cpu:5.2f} s")


library = os.path.join(work, "library")
os.makedirs(library)
shutil.copy(picture, os.path.join(library, "picture" + os.path.splitext(picture)[1]))


class AnonymousDaemon(Daemon):
    """A daemon whose IIIF responses pages of other origins may read."""

    def start(self, address):
        os.environ["PHOTOD_ALLOW_ANONYMOUS"] = "true"
        super().start(address)


daemon = AnonymousDaemon(photod, library)
identifier = daemon.get("/v1/assets?limit=1")["assets"][0]["localIdentifier"]
info = f"{daemon.url}/iiif/3/{identifier}/info.json"
size = daemon.get(f"/iiif/3/{identifier}/info.json")
print(f"{size['width']} x {size['height']} pixels, {os.path.getsize(picture) / 1e6:.1f} MB")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
threading.Thread(target=server.serve_forever, daemon=True).start()
page = f"http://127.0.0.1:{server.server_address[1]}/"
look("cold", daemon, page, info)
look("memory", daemon, page, info)
daemon.restart(lambda: None)
look("disk", daemon, page, info)
fetch_all("all", daemon, identifier, size)
fetch_all("again", daemon, identifier, size)
dzsave()
server.shutdown()
