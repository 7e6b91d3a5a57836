import Foundation
import PhotoFixtures
import StoreFixtures
import Synchronization
import Testing

/// A remote library in the process of the test, and daemons that serve it.
final class RemoteFixture: Sendable {
  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case bucket
    case origin = "web server"

    var testDescription: String { rawValue }
  }

  static let accessKey = "AKIDFORTESTS"
  /// Appears nowhere but in the environment of the daemon.
  static let secret = "do-not-show-this-secret-0123456789"

  let kind: Kind
  let server: MemoryServer
  let folders: TestDaemon.Folders
  let library: String

  init(_ kind: Kind = .bucket) throws {
    self.kind = kind
    server = MemoryServer(root: kind == .bucket ? "/photos" : "/album", isBucket: kind == .bucket)
    folders = try TestDaemon.Folders()
    library = kind == .bucket ? "s3://photos/album" : "\(server.address)/album"
  }

  /// The same library for another daemon, with folders of its own.
  init(sharing other: RemoteFixture) throws {
    (kind, server, library) = (other.kind, other.server, other.library)
    folders = try TestDaemon.Folders()
  }

  /// Stops the server; call it at the end of the test.
  func stop() { server.stop() }

  /// The name of a file of the library on the server.
  func key(_ name: String) -> String { kind == .bucket ? "album/\(name)" : name }

  func set(_ name: String, _ bytes: [UInt8]) { server.set(key(name), bytes) }
  func remove(_ name: String) { server.remove(key(name)) }

  /// A photograph of 1200x900.
  ///
  /// - Parameter padding: bytes after its end.
  static func picture(_ seed: Int, padding: Int = 0) -> [UInt8] {
    JPEGFile { _ in }.encoded(Scene(seed: seed, grain: 2).pixels(width: 1200, height: 900))
      + [UInt8](repeating: 0, count: padding)
  }

  var arguments: [String] {
    ["--set", "remote.allowPrivateAddresses=true"]
      + (kind == .bucket ? ["--set", "s3.endpoint=\(server.address)", "--set", "s3.pathStyle=true"] : [])
  }

  var environment: [String: String] {
    ["AWS_ACCESS_KEY_ID": Self.accessKey, "AWS_SECRET_ACCESS_KEY": Self.secret, "AWS_SESSION_TOKEN": ""]
  }

  func scan(_ more: [String] = []) throws -> (status: Int32, output: String, error: String) {
    try TestDaemon.run(
      ["scan", "--library", library, "--data", folders.data] + arguments + more, environment: environment)
  }

  /// Scans the library, and serves it. After the scan at its start, the daemon scans only on request.
  func daemon(_ more: [String] = []) throws -> TestDaemon {
    let scan = try scan()
    #expect(scan.status == 0, "\(scan.error)")
    return try serve(more)
  }

  func serve(_ more: [String] = [], environment others: [String: String] = [:]) throws -> TestDaemon {
    try TestDaemon(
      serving: folders, library: library, arguments: arguments + ["--set", "scan.intervalSeconds=0"] + more,
      environment: environment.merging(others) { $1 }, launcher: "exec \"$@\" 2>>'\(logPath)'")
  }

  private var logPath: String { folders.base + "/log" }

  var log: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }

  /// The files of the local store of originals.
  var localOriginals: [String] {
    let names = FileManager.default.enumerator(atPath: folders.data + "/originals")?.allObjects as? [String] ?? []
    return names.filter { $0 != "lock" && $0.count > 2 }
  }

  /// The requests that download a whole file.
  func downloads(of name: String) -> Int {
    server.requests.count { $0.method == "GET" && $0.fields["range"] == nil && $0.path.hasSuffix("/\(name)") }
  }

  /// Lets whole downloads wait for a gate after half of the file has been sent.
  func hold(_ gate: Gate) {
    let server = server
    server.misbehave { [weak server] request in
      guard let server, request.method == "GET", request.fields["range"] == nil, request.path.hasSuffix(".jpg"),
        case .send(let bytes) = server.usual(request)
      else { return nil }
      return [.send(Array(bytes[..<(bytes.count / 2)])), .wait(gate), .send(Array(bytes[(bytes.count / 2)...]))]
    }
  }
}

/// Requests that run on threads of their own, and their responses.
final class WaitingResponses: Sendable {
  private let state = Mutex<[Int: Result<TestDaemon.Response, any Error>]>([:])
  private let group = DispatchGroup()

  func begin(_ number: Int, _ request: @escaping @Sendable () throws -> TestDaemon.Response) {
    group.enter()
    Thread.detachNewThread { [self] in
      let result = Result { try request() }
      state.withLock { $0[number] = result }
      group.leave()
    }
  }

  var count: Int { state.withLock { $0.count } }

  /// Waits for all responses, and returns them in the order of their numbers.
  func wait() throws -> [TestDaemon.Response] {
    #expect(group.wait(timeout: .now() + 60) == .success, "\(count) responses")
    return try state.withLock { $0 }.sorted { $0.key < $1.key }.map { try $0.value.get() }
  }
}

extension TestDaemon.Response {
  var problem: String? { json["type"] as? String }
}

extension TestDaemon {
  /// The value of a series with its labels.
  func metric(_ series: String) throws -> Double? {
    let lines = String(decoding: try get("/metrics").body, as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  func image(_ path: String, _ query: String) throws -> Response {
    try get("/v1/assets/\(try identifier(path))/image?\(query)")
  }

  func asset(_ path: String) throws -> [String: Any] { try get("/v1/assets/\(try identifier(path))").json }
}
