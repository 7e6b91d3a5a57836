import Foundation
import StoreFixtures
import Synchronization
import Testing

@testable import ObjectStores

#if canImport(Glibc)
  import Glibc
#endif

/// A store, with another way to its objects than the store itself.
struct StorePeer: Sendable {
  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case folder
    case httpOrigin = "HTTP origin"
    case pathStyleBucket = "bucket in the path"
    case hostStyleBucket = "bucket in the host, with a prefix"
    case moto = "moto"
    case nginx = "nginx"

    var testDescription: String { rawValue }
    var isReadOnly: Bool { self == .httpOrigin || self == .nginx }

    /// Those that need no other program.
    static var builtIn: [Kind] { allCases.filter { $0 != .moto && $0 != .nginx } }
  }

  let store: any ObjectStore
  /// Writes an object past the store.
  let set: @Sendable (_ key: String, _ bytes: [UInt8]) throws -> Void
  let stop: @Sendable () -> Void

  /// Runs a test with a new, empty store whose pages have at most 3 objects.
  static func with(_ kind: Kind, _ test: (StorePeer) throws -> Void) throws {
    let peer = try make(kind)
    defer { peer.stop() }
    try test(peer)
  }

  private static func make(_ kind: Kind) throws -> StorePeer {
    switch kind {
    case .folder: return try folder()
    case .httpOrigin:
      let server = MemoryServer(root: "/my%20photos".removingPercentEncoding ?? "", isBucket: false)
      let store = HTTPObjectStore(address: "\(server.address)/my%20photos/", rules: .loopback)
      return StorePeer(store: try required(store), set: { server.set($0, $1) }, stop: { server.stop() })
    case .pathStyleBucket:
      let server = MemoryServer(root: "/photos", isBucket: true)
      return StorePeer(
        store: try bucket(endpoint: server.address, usesPathStyle: true, prefix: ""), set: { server.set($0, $1) },
        stop: { server.stop() })
    case .hostStyleBucket:
      let server = MemoryServer(root: "/", isBucket: true)
      return StorePeer(
        store: try bucket(endpoint: "http://localhost:\(server.port)", usesPathStyle: false, prefix: "/a b/c/"),
        set: { server.set("a b/c/\($0)", $1) }, stop: { server.stop() })
    case .nginx:
      let nginx = try NginxOrigin()
      return StorePeer(store: nginx.store, set: { try nginx.set($0, $1) }, stop: { nginx.stop() })
    case .moto:
      let moto = try required(MotoServer.running.withLock { $0 })
      let writer = try bucket(endpoint: moto.address, usesPathStyle: true, prefix: "")
      let prefix = "library \(UUID().uuidString)"
      return StorePeer(
        store: try bucket(endpoint: moto.address, usesPathStyle: true, prefix: prefix),
        set: { _ = try writer.waitToPut($1, as: ObjectKey(stringLiteral: "\(prefix)/\($0)"), replaces: true) },
        stop: {})
    }
  }

  private static func folder() throws -> StorePeer {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("objects-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return StorePeer(
      store: try FolderObjectStore(path: folder.path, pageEntries: 3),
      set: { key, bytes in
        let file = folder.appendingPathComponent(key)
        try FileManager.default.createDirectory(
          at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file, options: .atomic)
      },
      stop: { try? FileManager.default.removeItem(at: folder) })
  }

  static func bucket(
    endpoint: String, usesPathStyle: Bool, prefix: String, limits: RemoteLimits = RemoteLimits(),
    clock: RemoteClock = .system
  ) throws -> S3ObjectStore {
    let bucket = S3Bucket(
      name: "photos", prefix: prefix, region: "us-east-1", endpoint: endpoint, usesPathStyle: usesPathStyle)
    return S3ObjectStore(
      bucket: try required(bucket), credentials: S3Credentials(accessKeyID: "AKIAEXAMPLE", secretAccessKey: "secret"),
      rules: .loopback, limits: limits, clock: clock, pageEntries: 3)
  }
}

struct Missing: Error {}

func required<Value>(_ value: Value?) throws -> Value {
  guard let value else { throw Missing() }
  return value
}

/// moto's S3 server in a process of its own, with one bucket. It accepts any signature.
final class MotoServer: Sendable {
  /// The one of the test that runs.
  static let running = Mutex<MotoServer?>(nil)

  let address: String
  private let process: Process

  /// The program, in a folder of `PATH` or at `PHOTOD_TEST_MOTO_SERVER`.
  static let program: String? = {
    let environment = ProcessInfo.processInfo.environment
    let folders = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/moto_server" }
    return ([environment["PHOTOD_TEST_MOTO_SERVER"]].compactMap(\.self) + folders).first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  }()

  init() throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: try required(Self.program))
    process.arguments = ["-H", "127.0.0.1", "-p", "0"]
    let output = Pipe()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    var text = ""
    while !text.contains("Running on ") || !text.hasSuffix("\n") {
      let bytes = output.fileHandleForReading.availableData
      guard !bytes.isEmpty else { throw Missing() }
      text += String(decoding: bytes, as: UTF8.self)
    }
    let line = text.components(separatedBy: "Running on ")[1]
    address = String(line.prefix { !$0.isWhitespace && $0 != "\u{1B}" })
    // The log must not fill the pipe.
    output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    try makeBucket()
  }

  func stop() {
    // It inherits the blocked signals of the tests, and has nothing to save.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  private func makeBucket() throws {
    let origin = RemoteOrigin(rules: .loopback, limits: RemoteLimits(), clock: .system)
    let credentials = S3Credentials(accessKeyID: "AKIAEXAMPLE", secretAccessKey: "secret")
    var bucket = try required(RemoteAddress(address))
    bucket.path = "/photos"
    let fields = S3Signer(credentials: credentials, region: "us-east-1").sign(
      .put, bucket, [], payloadHash: S3Signer.emptyPayloadHash, time: RemoteClock.system.wall())
    let request = TransferRequest(method: .put, address: bucket, fields: fields, timeout: .seconds(20))
    let plan = ExchangePlan(
      request: { _ in request }, accept: { _, _ in nil }, refuse: { head, _ in head.failure }, timeout: .seconds(20))
    let made = DispatchSemaphore(value: 0)
    let failure = Mutex<ObjectStoreError?>(nil)
    let operation = origin.run(
      plan,
      { (result: Result<Void, ObjectStoreError>) in
        if case .failure(let error) = result { failure.withLock { $0 = error } }
        made.signal()
      }
    ) { _, _ in }
    made.wait()
    _ = operation
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
