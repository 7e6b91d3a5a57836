# Controls headless Chromium through the pipe of --remote-debugging-pipe (Chrome DevTools Protocol), without sockets and
# packages. Messages are JSON, each terminated by a NUL; Chromium reads descriptor 3 and writes descriptor 4.
import base64
import fcntl
import json
import os
import shutil
import subprocess


class Browser:
    def __init__(self, profile, width, height):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program:
            raise SystemExit("Chromium not found: install the package chromium")
        read_end, self._to = os.pipe()
        self._from, write_end = os.pipe()
        # Above the numbers that the shell assigns below.
        read_end, write_end = self._moved(read_end), self._moved(write_end)
        arguments = [program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                     "--no-first-run", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--force-device-scale-factor=1"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium's sandbox refuses root.
        # The shell moves the pipes to the descriptors that Chromium uses.
        command = ["bash", "-c", f'exec "$@" 3<&{read_end} 4>&{write_end}', "bash"] + arguments
        self._process = subprocess.Popen(command, pass_fds=(read_end, write_end), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
        os.close(read_end)
        os.close(write_end)
        self._buffer = b""
        self._number = 0
        self._session = None
        self._events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    @staticmethod
    def _moved(descriptor):
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
        os.close(descriptor)
        return moved

    def close(self):
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._events.append(answer)

    def open(self, url):
        self._events = []
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def wait(self, method):
        """Waits for an event since the last `open`."""
        while not any(event.get("method") == method for event in self._events):
            self._events.append(self._read())

    def evaluate(self, script):
        """Returns the value of an expression; waits for it if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _read(self):
        while b"\0" not in self._buffer:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError("Chromium exited")
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)
