# A daemon with a library of its own, and browser tabs: for show.py.
import atexit
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request

from browser import Browser

STEP_SECONDS = 30


def until(condition, what="a step"):
    """Waits until a condition holds, and returns its value."""
    end = time.monotonic() + STEP_SECONDS
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.03)
    raise SystemExit(f"{what} did not come to its end")


class Daemon:
    def __init__(self, photod, library, settings=None):
        self.photod, self.library, self.data = photod, library, f"{library}.data"
        self.settings = settings or {}
        self.start("127.0.0.1:0")
        atexit.register(self.stop)

    def start(self, address):
        environment = {**os.environ, "PHOTOD_SCAN_SETTLE_SECONDS": "0", "PHOTOD_ACCESS_LOG": "false", **self.settings}
        self.process = subprocess.Popen(
            [self.photod, "serve", "--library", self.library, "--data", self.data, "--listen", address],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        self.url = re.search(r"http://\S+?(?=/?\s)", self.process.stdout.readline()).group()
        until(lambda: self.get("/readyz")["firstScan"]["complete"], "the first scan")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def restart(self, meanwhile):
        """Starts it again at the same address."""
        self.stop()
        meanwhile()
        self.start(self.url.removeprefix("http://"))

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    @property
    def count(self):
        return self.get("/v1/assets?count=true&limit=1")["count"]

    def token(self, scope, *options):
        return subprocess.run(
            [self.photod, "token", "create", "--scope", scope, "--data", self.data, "--library", self.library, *options],
            check=True, capture_output=True, text=True).stdout.strip()

    def needs_token(self):
        try:
            self.get("/v1/assets?limit=1")
        except urllib.error.HTTPError as error:
            return error.code == 401
        return False


class Tab:
    # The folder for a screenshot of a step that failed; empty for none.
    screenshots = ""

    def __init__(self, profile, url, width=1280, height=900):
        self.browser = Browser(profile, width, height)
        self.browser.call("Runtime.enable")
        self.browser.call("Log.enable")
        self.browser.call("Page.addScriptToEvaluateOnNewDocument", source="""
          window.refused = [];
          window.streams = [];
          const media = window.matchMedia.bind(window);
          window.matchMedia = query => query == '(dynamic-range: high)' ? {get matches() { return !!window.isHighRange }} : media(query);
          window.EventSource = class extends EventSource { constructor(url) { super(url); streams.push(this); } };
          addEventListener('securitypolicyviolation', event => refused.push(event.blockedURI + ' ' + event.violatedDirective));
        """)
        self.open(url)

    def open(self, url):
        self.check()
        self.browser.open(url)

    def run(self, script):
        return self.browser.evaluate(script)

    def do(self, script):
        self.browser.evaluate(f"{script}, 1")

    def until(self, script, what):
        def holds():
            try:
                return self.run(f"!!({script})")
            except RuntimeError as error:
                # The page is being loaded again.
                if "navigated" in str(error):
                    return False
                raise

        try:
            return until(holds, what)
        except SystemExit:
            if Tab.screenshots:
                os.makedirs(Tab.screenshots, exist_ok=True)
                with open(f"{Tab.screenshots}/failure.png", "wb") as file:
                    file.write(self.browser.screenshot())
            raise

    def key(self, name, shift=False, text=None):
        """Presses a real key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        parameters = {"key": name, "windowsVirtualKeyCode": codes.get(name, ord(name[0].upper())),
                      "modifiers": 8 if shift else 0}
        content = text or {"Enter": "\r", " ": " "}.get(name) or (name if len(name) == 1 else None)
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", **parameters, **({"text": content} if content else {}))
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def mouse(self, kind, x, y):
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                          buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def touch(self, *steps):
        """Fingers on the screen: each step is the points of all of them."""
        for number, points in enumerate(steps):
            self.browser.call("Input.dispatchTouchEvent", type="touchMove" if number else "touchStart",
                              touchPoints=[{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(points)])
        self.browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def choose_files(self, *paths):
        node = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        found = self.browser.call("DOM.querySelector", nodeId=node, selector="#files")["nodeId"]
        self.browser.call("DOM.setFileInputFiles", nodeId=found, files=list(paths))

    def resize(self, width, height, scheme="light"):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                          mobile=False)
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def check(self):
        """Fails for exceptions of scripts, and for what the Content-Security-Policy refused."""
        refused = self.run("window.refused ?? []")
        thrown = [event["params"] for event in self.browser._events if event.get("method") == "Runtime.exceptionThrown"]
        if thrown or refused:
            raise SystemExit(f"faults of the page: {json.dumps(thrown)[:1500]} {refused}")

    def close(self):
        self.check()
        self.browser.close()
