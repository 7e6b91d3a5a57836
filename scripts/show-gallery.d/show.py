# show.py PHOTOD DEMO WORK SCREENSHOTS : see scripts/show-gallery. SCREENSHOTS may be empty.
import atexit
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

from browser import Browser

photod, demo, work, screenshots = sys.argv[1:]
PICTURES = 24
STEP_SECONDS = 20


def picture(path, seed, width=1200, height=900):
    subprocess.run([demo, "photo", path, "--seed", str(seed), "--width", str(width), "--height", str(height)],
                   check=True, stdout=subprocess.DEVNULL)


class Daemon:
    def __init__(self, name):
        self.library, self.data = f"{work}/{name}", f"{work}/{name}.data"
        os.mkdir(self.library)
        for seed in range(PICTURES):
            shape = [(1200, 900), (900, 1200), (1600, 900)][seed % 3]
            path = f"{self.library}/{seed:02}.jpg"
            picture(path, seed, *shape)
            # Pictures of many months.
            stamp = 1_700_000_000 - seed * 12 * 86_400
            os.utime(path, (stamp, stamp))
        environment = {**os.environ, "PHOTOD_SCAN_SETTLE_SECONDS": "0", "PHOTOD_ACCESS_LOG": "false"}
        self.process = subprocess.Popen(
            [photod, "serve", "--library", self.library, "--data", self.data, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        atexit.register(self.process.terminate)
        self.url = re.search(r"http://\S+", self.process.stdout.readline()).group()
        until(lambda: self.get("/v1/assets?count=true")["count"] == PICTURES)

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def needs_token(self):
        try:
            self.get("/v1/assets?limit=1")
        except urllib.error.HTTPError as error:
            return error.code == 401
        return False

    def close(self):
        self.process.terminate()
        self.process.wait()


def until(condition, what="a step"):
    end = time.monotonic() + STEP_SECONDS
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"{what} did not come to its end")


class Tab:
    def __init__(self, name, url, width=1280, height=900):
        self.browser = Browser(f"{work}/{name}", width, height)
        self.browser.call("Runtime.enable")
        self.browser.open(url)

    def run(self, script):
        return self.browser.evaluate(script)

    def until(self, script, what):
        return until(lambda: self.run(f"!!({script})"), what)

    def failures(self):
        """Exceptions of scripts, and what the Content-Security-Policy refused."""
        self.run("1")
        return [event["params"] for event in self.browser._events if event.get("method") == "Runtime.exceptionThrown"]


READY = "document.querySelectorAll('.cell.ready').length"
CELLS = "document.querySelectorAll('.cell').length"


def step(name, value=""):
    print(f"{name:<62} {value}", flush=True)


def key(tab, name):
    tab.run(f"(document.activeElement ?? document.body).dispatchEvent("
            f"new KeyboardEvent('keydown', {{key: '{name}', bubbles: true, cancelable: true}})), 1")


def main():
    daemon = Daemon("library")
    one, two = Tab("one", daemon.url + "/"), Tab("two", daemon.url + "/")
    one.until(f"{READY} > 8", "the first pictures")
    step("pictures of the first screen are shown", one.run(READY))
    step("time to the first picture, ms", one.run(
        "Math.round(Math.min(...performance.getEntriesByType('resource')"
        ".filter(e => e.name.includes('/image?')).map(e => e.responseEnd)))"))
    step("bytes of the page's own code", one.run(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/gallery/'))"
        ".reduce((sum, e) => sum + e.decodedBodySize, 0)"))
    one.run("document.querySelector('#timeline').scrollTop = 1e6, 1")
    one.until("[...document.querySelectorAll('.cell')].some(c => c.asset && +c.dataset.index > 20)", "scrolling")
    step("the end of the list is reached; nodes of the grid", one.run("document.querySelectorAll('.canvas *').length"))
    one.run("document.querySelector('#timeline').scrollTop = 0, 1")

    # The viewer
    one.until("document.querySelector('.cell[data-index=\"0\"]')", "the first cell")
    one.run("document.querySelector('.cell[data-index=\"0\"]').click(), 1")
    one.until("document.querySelector('#viewer .picture')?.naturalWidth > 1000 && document.querySelector('#viewer').open", "the viewer")
    step("the viewer shows the picture at the screen's size", one.run(
        "(i => i.naturalWidth + ' x ' + i.naturalHeight)(document.querySelector('#viewer .picture'))"))
    key(one, "ArrowRight")
    one.until("document.querySelector('#viewer .picture')?.src.includes(document.querySelector("
              "'.cell[data-index=\"1\"]').asset.id)", "the next picture")
    step("an arrow key shows the next one")
    key(one, "f")
    two.until("document.querySelector('.cell[data-index=\"1\"] .badge.favourite')", "a star in another tab")
    step("a star in one tab appears in the other")
    for _ in range(4):
        key(one, "+")
    one.until("document.querySelectorAll('#viewer .tile').length > 0 && "
              "[...document.querySelectorAll('#viewer .tile')].every(t => t.complete && t.naturalWidth > 0)", "tiles")
    step("zooming shows tiles of the full resolution", one.run("document.querySelectorAll('#viewer .tile').length"))
    one.run("document.querySelector('#viewer').close(), 1")

    # What happens elsewhere
    picture(f"{daemon.library}/new.jpg", 99)
    one.until(f"document.querySelector('#count').textContent == '{PICTURES + 1}'", "a copied file")
    step("a file that is copied into the library appears")

    # An upload, by the page's own input
    picture(f"{work}/upload.jpg", 100)
    node = one.browser.call("DOM.getDocument")["root"]["nodeId"]
    files = one.browser.call("DOM.querySelector", nodeId=node, selector="#files")["nodeId"]
    one.browser.call("DOM.setFileInputFiles", nodeId=files, files=[f"{work}/upload.jpg"])
    two.until(f"document.querySelector('#count').textContent == '{PICTURES + 2}'", "an upload")
    step("an uploaded file appears in the other tab")

    # Albums and selection
    one.run("document.querySelector('#sidebar h2 .small').click(), 1")
    one.until("document.querySelector('#question').open", "a question")
    one.run("document.querySelector('#question input').value = 'Norway', "
            "document.querySelector('#question .primary').click(), 1")
    two.until("[...document.querySelectorAll('.name')].some(n => n.textContent == 'Norway')", "an album in another tab")
    step("an album that one tab makes appears in the other")
    one.run("document.querySelectorAll('.cell .check')[0].click(), document.querySelectorAll('.cell .check')[2].click(), 1")
    one.until("!document.querySelector('#selectionBar').hidden", "a selection")
    album = next(c for c in daemon.get("/v1/collections?type=album")["collections"])["localIdentifier"]
    one.run("""(() => {
      const data = new DataTransfer(), row = [...document.querySelectorAll('.collection')].find(r => r.textContent.includes('Norway'));
      document.querySelector('.cell.selected').dispatchEvent(new DragEvent('dragstart', {dataTransfer: data, bubbles: true}));
      row.dispatchEvent(new DragEvent('dragover', {dataTransfer: data, bubbles: true, cancelable: true}));
      row.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    })(), 1""")
    until(lambda: len(daemon.get(f"/v1/collections/{album}/assets")["assets"]) == 2, "a drop")
    step("two selected pictures are dropped into the album")
    key(one, "Escape")

    # Deleting, and taking it back
    one.run("document.querySelectorAll('.cell .check')[0].click(), 1")
    one.run("[...document.querySelectorAll('#selectionBar button')].at(-1).click(), 1")
    one.until("document.querySelector('#messages button')", "a deletion")
    until(lambda: daemon.get("/v1/assets?count=true")["count"] < PICTURES + 2, "a deletion")
    one.run("document.querySelector('#messages button').click(), 1")
    until(lambda: daemon.get("/v1/assets?count=true")["count"] == PICTURES + 2, "taking it back")
    step("a deleted picture comes back")

    # Search
    one.run("document.querySelector('#search input').value = 'pixelWidth > 10 AND isFav', "
            "document.querySelector('#search input').dispatchEvent(new Event('input', {bubbles: true})), 1")
    completed = one.run("[...document.querySelectorAll('#words option')].map(o => o.value)")
    if completed != ["pixelWidth > 10 AND isFavorite"]:
        raise SystemExit(f"completed: {completed}")
    step("the search completes the words of predicates")
    one.run("document.querySelector('#search input').value = 'isFavorite == YES', "
            "document.querySelector('#search').requestSubmit(), 1")
    one.until("document.querySelector('#count').textContent == '1'", "a search")
    step("a predicate finds the favourite")

    # What a screen reader and the keyboard find
    faults = one.run("""[...document.querySelectorAll('button, input, [tabindex="0"], dialog, nav, main')]
      .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length || e.hidden || !e.isConnected))
      .filter(e => e.matches('button, input, [tabindex="0"]') && e.type != 'file')
      .map(e => e.outerHTML.slice(0, 80))""")
    if faults:
        raise SystemExit(f"without a name: {faults}")
    step("every control has a name")

    # Sign-in
    token = subprocess.run([photod, "token", "create", "--scope", "read,write", "--data", daemon.data, "--library", daemon.library],
                           check=True, capture_output=True, text=True).stdout.strip()
    for tab in [one, two]:
        if tab.failures():
            raise SystemExit(f"exceptions in the page: {json.dumps(tab.failures())[:2000]}")
    # The daemon looks for commits of other processes once a second.
    until(daemon.needs_token, "the first token")
    two.browser.open(daemon.url + "/")
    two.until("document.querySelector('#signIn').open", "the sign-in")
    two.run(f"document.querySelector('#signIn input').value = '{token}', "
            "document.querySelector('#signIn form').requestSubmit(), 1")
    two.until(f"{READY} > 4 && !document.querySelector('#signIn').open", "signing in")
    step("a token signs in")
    if two.failures():
        raise SystemExit(f"exceptions in the page: {json.dumps(two.failures())[:2000]}")
    if screenshots:
        take_screenshots(two)
    for tab in [one, two]:
        tab.browser.close()
    daemon.close()


def take_screenshots(tab):
    os.makedirs(screenshots, exist_ok=True)
    for width in [360, 1600, 2560]:
        for scheme in ["light", "dark"]:
            tab.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=max(740, width * 5 // 8),
                             deviceScaleFactor=1, mobile=False)
            tab.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            time.sleep(1)
            tab.until("[...document.querySelectorAll('.cell')].every(c => c.matches('.ready, .missing'))", "pictures")
            with open(f"{screenshots}/{width}-{scheme}.png", "wb") as file:
                file.write(tab.browser.screenshot())


main()
