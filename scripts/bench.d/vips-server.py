# Warm libvips behind HTTP, one picture at a time: what an image proxy does for each request. For scripts/bench.
#
# vips-server.py QUALITY FILE... : prints its port and libvips's version, then answers GET /INDEX/WIDTH/HEIGHT/MODE/FORMAT.
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import pyvips

quality, files = int(sys.argv[1]), sys.argv[2:]
pyvips.cache_set_max(0)  # Every picture is to be made.


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        _, index, width, height, mode, format = self.path.split("/")
        image = pyvips.Image.thumbnail(files[int(index)], int(width), height=int(height), size="down",
                                       crop="centre" if mode == "aspectFill" else "none")
        body = image.jpegsave_buffer(Q=quality, strip=True) if format == "jpeg" else image.pngsave_buffer(strip=True)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, ".".join(str(pyvips.version(i)) for i in range(3)), flush=True)
server.serve_forever()
