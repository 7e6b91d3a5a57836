"""A TCP proxy that can be slow, break connections, and count bytes."""
import socket
import threading
import time


class Proxy:
    """
    Passes connections on unchanged, so that signatures stay valid: clients sign the proxy's address as Host, and RGW
    verifies what it receives.

    Fields are set between requests: bytes_per_second limits each connection, None does not; break_after closes the
    next connection that has carried that many bytes of answers since then, once.
    """

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.bytes_per_second = self.break_after = None
        self.is_down, self.received, self.open = False, 0, set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def go_down(self):
        """Closes all connections, and from now on new ones at once."""
        self.is_down = True
        with self.lock:
            for end in self.open:
                shut(end)

    def come_back(self):
        self.is_down = False

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.is_down:
                client.close()
                continue
            server = socket.create_connection(self.target)
            with self.lock:
                self.open |= {client, server}
            for arguments in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.copy, args=arguments, daemon=True).start()

    def copy(self, source, target, is_answer):
        passed = 0
        try:
            while data := source.recv(16384):
                if is_answer:
                    with self.lock:
                        self.received += len(data)
                        passed = passed + len(data) if self.break_after is not None else 0
                        breaks = self.break_after is not None and passed > self.break_after
                        if breaks:
                            self.break_after = None
                    if breaks:
                        break
                    if self.bytes_per_second:
                        time.sleep(len(data) / self.bytes_per_second)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            shut(end)
        with self.lock:
            self.open -= {source, target}


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
