# Controls headless Firefox by Marionette, its own protocol for tests, without packages: a message is its length, a colon
# and JSON. Firefox chooses the port and writes it into the profile.
import json
import os
import shutil
import socket
import subprocess
import time


def program():
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    def __init__(self, profile, width, height):
        os.mkdir(profile)
        with open(f"{profile}/user.js", "w", encoding="utf-8") as file:
            for name, value in {"marionette.port": 0, "app.update.disabledForTesting": True,
                                "datareporting.policy.dataSubmissionEnabled": False,
                                "toolkit.telemetry.enabled": False, "browser.shell.checkDefaultBrowser": False,
                                "network.captive-portal-service.enabled": False,
                                "network.connectivity-service.enabled": False}.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self._process = subprocess.Popen(
            [program(), "--headless", "--marionette", "--no-remote", "--profile", profile],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": profile})
        self._number = 0
        self._buffer = b""
        self._socket = self._connect(f"{profile}/MarionetteActivePort")
        self._read()  # The greeting.
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        self.call("WebDriver:SetWindowRect", width=width, height=height)

    def _connect(self, path):
        end = time.monotonic() + 60
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with open(path, encoding="ascii") as file:
                    return socket.create_connection(("127.0.0.1", int(file.read())), timeout=60)
            except (OSError, ValueError):
                time.sleep(0.05)
        raise SystemExit("Firefox did not open its port")

    def call(self, command, **parameters):
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result

    def open(self, url):
        self.call("WebDriver:Navigate", url=url)

    def evaluate(self, script):
        """Returns the value of an expression."""
        return self.call("WebDriver:ExecuteScript", script=f"return ({script})", args=[])["value"]

    def close(self):
        self._socket.close()
        self._process.terminate()
        self._process.wait()

    def _read(self):
        while b":" not in self._buffer:
            self._receive()
        length, _, self._buffer = self._buffer.partition(b":")
        while len(self._buffer) < int(length):
            self._receive()
        message, self._buffer = self._buffer[:int(length)], self._buffer[int(length):]
        return json.loads(message)

    def _receive(self):
        more = self._socket.recv(1 << 20)
        if not more:
            raise RuntimeError("Firefox exited")
        self._buffer += more
