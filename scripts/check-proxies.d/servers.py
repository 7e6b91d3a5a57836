"""The daemon and the proxies of scripts/check-proxies, which run the samples in config."""
import contextlib
import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

HOST = "photos.example"
# A client's address that is not the proxy's. Every address in 127.0.0.0/8 is this machine.
CLIENT = "127.0.0.9"


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
        """Sends a request on a new connection, and returns the connection."""
        connection = self.connect()
        lines = [f"{method} {target} HTTP/1.1", f"Host: {HOST}", *fields, "", ""]
        connection.sendall("\r\n".join(lines).encode() + body)
        return connection

    def ask(self, target, fields=(), method="GET", body=b""):
        """Sends a request, and returns the response and its body."""
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


def nginx(root, folder, daemon_socket):
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


def varnish_parameters(root):
    """The parameters that the sample's comment names."""
    return dict(re.findall(r"^#   -p (\w+)=(\w+)", (root / "config/photod.vcl").read_text(), re.MULTILINE))


def varnish(root, folder, daemon_port):
    port = free_port()
    (folder / "photod.vcl").write_text(replaced(
        (root / "config/photod.vcl").read_text(), {'.port = "8080";': f'.port = "{daemon_port}";'}))
    command = ["varnishd", "-F", "-j", "none", "-n", folder / "varnish", "-a", f"127.0.0.1:{port}", "-T", "none",
               "-f", folder / "photod.vcl", "-s", "default,64m"]
    for name, value in varnish_parameters(root).items():
        command += ["-p", f"{name}={value}"]
    return Server("varnish", command, port, folder)


@contextlib.contextmanager
def paused(daemon):
    """Suspends photod, so that everything that arrives comes from the proxy."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)
