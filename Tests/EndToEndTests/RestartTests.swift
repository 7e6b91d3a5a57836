import Foundation
import Testing

/// Restarts behind socket activation, under load: the socket outlives the daemon, and so does every request.
///
/// `PHOTOD_RESTARTS=20` asks for as many restarts and prints a line for each number of clients.
@Suite("Restarts behind socket activation", .blocking)
struct RestartTests {
  private static let restarts = ProcessInfo.processInfo.environment["PHOTOD_RESTARTS"].flatMap { Int($0) } ?? 3

  /// Each client opens a new connection for each request and sends requests without a pause.
  private static let script = """
    import os, socket, subprocess, sys, tempfile, threading
    binary, clients, restarts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    folder = tempfile.mkdtemp()
    os.mkdir(folder + "/library")
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(folder + "/notify")
    notify.settimeout(60)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(512)
    environment = dict(os.environ, LISTEN_FDS="1", NOTIFY_SOCKET=folder + "/notify")
    def expect(state):
        # Other states, such as STATUS, may come before it.
        while state not in notify.recv(1000).split(b"\\n"): pass
    def start():
        # LISTEN_PID is the daemon's own, which a shell knows once it has become the daemon.
        daemon = subprocess.Popen(
            ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", binary, "serve", "--library", folder + "/library",
             "--data", folder + "/data"], env=environment, preexec_fn=lambda: os.dup2(listener.fileno(), 3),
            close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        expect(b"READY=1")
        return daemon
    answered, lost, done = [0] * clients, [0] * clients, threading.Event()
    def ask(index):
        while not done.is_set():
            try:
                client = socket.create_connection(listener.getsockname(), 60)
                client.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
                answer = b""
                while chunk := client.recv(4096): answer += chunk
                client.close()
                good = answer.startswith(b"HTTP/1.1 200")
            except OSError:
                good = False
            if good: answered[index] += 1
            else: lost[index] += 1
    daemon = start()
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(clients)]
    for thread in threads: thread.start()
    for _ in range(restarts):
        target = sum(answered) + 50 * clients
        while sum(answered) < target and not sum(lost): threading.Event().wait(0.01)
        daemon.terminate()
        expect(b"STOPPING=1")
        assert daemon.wait(60) == 0
        daemon = start()
    done.set()
    for thread in threads: thread.join()
    daemon.terminate()
    daemon.wait(60)
    print(sum(answered), sum(lost))
    """

  @Test("no request is lost while the daemon restarts", arguments: [2, 8])
  func restart(_ clients: Int) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", Self.script, TestDaemon.binary, "\(clients)", "\(Self.restarts)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let counts = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    try #require(process.terminationStatus == 0 && counts.count == 2)
    if ProcessInfo.processInfo.environment["PHOTOD_RESTARTS"] != nil {
      print("\(clients) clients, \(Self.restarts) restarts: \(counts[0]) answered, \(counts[1]) lost")
    }
    #expect(counts[0] > 0 && counts[1] == 0)
  }
}
