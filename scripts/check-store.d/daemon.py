"""A photod that serves a library, and its HTTP client."""
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

# How long a condition may take to hold on a busy machine.
PATIENCE_SECONDS = 60


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def result(self):
        return self.headers["Image-Result"] or ""

    def __str__(self):
        kind = self.headers.get_content_type()
        return f"{self.status} {self.result} {self.body.decode() if 'json' in kind else kind}"


def until(what, holds):
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {PATIENCE_SECONDS} s: {what}")
        time.sleep(0.1)


class Daemon:
    """
    A running photod.

    library and data are its settings of these names; settings are others, as "NAME=VALUE"; key is the access key, its
    secret and perhaps a session token.
    """

    def __init__(self, photod, library, data, settings=(), key=("", "")):
        self.log = f"{data}.log"
        self.command = arguments(library, data, settings)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [photod, "serve", "--listen", "127.0.0.1:0", "--set", "accessLog=false", *self.command],
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment(key))
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if not found:
            raise SystemExit(f"photod does not start: {line}{self.logged()[-3000:]}")
        self.url = found[0].rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def logged(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def ask(self, path, method="GET", body=None, fields={}):
        request = urllib.request.Request(self.url + path, body, dict(fields), method=method)
        try:
            return Answer(urllib.request.urlopen(request, timeout=PATIENCE_SECONDS))
        except urllib.error.HTTPError as error:
            return Answer(error)

    def send(self, path, value, method="POST"):
        return self.ask(path, method, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def change(self, **entry):
        return self.send("/v1/changes", {"changes": [entry]})

    def upload(self, content, name):
        return self.ask(f"/v1/assets?filename={urllib.parse.quote(name)}", "POST", content)

    def assets(self):
        """Returns all assets by their paths."""
        page = self.ask("/v1/assets?limit=1000&includeHiddenAssets=true&includeAllBurstAssets=true").json
        return {asset["relativePath"]: asset for asset in page["assets"]}

    def image(self, asset, query, fields={}):
        return self.ask(f"/v1/assets/{asset['localIdentifier']}/image?{query}", fields=fields)

    def original(self, asset):
        return self.ask(f"/v1/assets/{asset['localIdentifier']}/data?includeLocation=true&networkAccessAllowed=true")

    def metric(self, name, **labels):
        """Returns the sum of the samples that have these labels."""
        total = 0
        for line in self.ask("/metrics").body.decode().splitlines():
            series, _, value = line.rpartition(" ")
            if series.split("{")[0] == name and all(f'{key}="{label}"' in series for key, label in labels.items()):
                total += float(value)
        return total

    def first_scan(self):
        until("the first scan is complete", lambda: self.metric("photod_library_scans_total") > 0)

    def scan(self):
        """Returns whether a scan of the whole library succeeds."""
        def count(result=None):
            return self.metric("photod_library_scans_total", **({"result": result} if result else {}))
        all_before, completed_before = count(), count("completed")
        self.ask("/v1/scan", "POST")
        until("the scan has ended", lambda: count() > all_before)
        return count("completed") > completed_before


def arguments(library, data, settings):
    chosen = ["scan.intervalSeconds=0", "scan.settleSeconds=0", "watch.enabled=false", "upload.template={name}", *settings]
    return ["--library", library, "--data", str(data)] + [word for setting in chosen for word in ("--set", setting)]


def environment(key):
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    return {**os.environ, **dict(zip(names, (*key, "")))}


def parts(answer):
    """Returns the type, the Image-Result and the body of each part of a multipart/mixed answer."""
    boundary = re.search(r'boundary="?([^";]+)', answer.headers["Content-Type"])[1].encode()
    found = []
    for part in answer.body.split(b"--" + boundary)[1:-1]:
        head, _, body = part.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().strip().splitlines())
        fields = {name.lower(): value for name, value in fields.items()}
        found.append((fields.get("content-type"), fields.get("image-result", ""), body[:-2]))
    return found
