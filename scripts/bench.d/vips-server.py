# A warm libvips with an HTTP interface, one picture at a time, as an image proxy works. Used by scripts/bench.
#
# vips-server.py QUALITY FILE... : prints its port and the version of libvips, then serves GET
# /INDEX/WIDTH/HEIGHT/MODE/FORMAT. Any number of connections may be open; pictures are rendered one after the other.
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

import pyvips

quality, files = int(sys.argv[1]), sys.argv[2:]
pyvips.cache_set_max(0)  # Without a cache, every picture is rendered.
turn = Lock()


def picture(index, width, height, mode, format):
    image = pyvips.Image.thumbnail(files[int(index)], int(width), height=int(height), size="down",
                                   crop="centre" if mode == "aspectFill" else "none")
    return image.jpegsave_buffer(Q=quality, strip=True) if format == "jpeg" else image.pngsave_buffer(strip=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # The head and the body are two writes.

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        with turn:
            body = picture(*self.path.split("/")[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, ".".join(str(pyvips.version(i)) for i in range(3)), flush=True)
server.serve_forever()
