import Cryptography
import Foundation
import Synchronization

/// Objects in memory, served as an HTTP origin with a manifest or as a bucket.
///
/// The bucket has as much of S3 as ``S3ObjectStore`` uses, written from the API reference; the same tests run against
/// moto's server where it is installed.
package final class MemoryServer: Sendable {
  private struct Object {
    var bytes: [UInt8]
    var sha256: String?
    var modified = MemoryServer.epoch
  }

  /// 24 May 2013. Objects that a client writes get later times, each another one.
  private static let epoch: Int64 = 1_369_353_600

  private let objects = Mutex<[String: Object]>([:])
  private let writes = Atomic<Int64>(0)
  private let server = Mutex<ScriptedServer?>(nil)
  /// The path before the keys: of the prefix of an origin, or of the bucket.
  private let root: String
  private let isBucket: Bool
  private let override = Mutex<(@Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]?)?>(nil)

  package init(root: String, isBucket: Bool) {
    self.root = root
    self.isBucket = isBucket
    // A connection may outlive the test.
    let scripted = ScriptedServer { [weak self] request, _ in
      guard let self else { return [.close] }
      return override.withLock { $0 }?(request) ?? [answer(request)]
    }
    server.withLock { $0 = scripted }
  }

  package var address: String { server.withLock { $0?.address ?? "" } }
  package var port: UInt16 { server.withLock { $0?.port ?? 0 } }
  package var requests: [ScriptedServer.Request] { server.withLock { $0?.requests ?? [] } }
  package func stop() { server.withLock { $0?.stop() } }

  /// Answers requests with other steps than usual; `nil` from the function: as usual.
  package func misbehave(_ steps: (@Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]?)?) {
    override.withLock { $0 = steps }
  }

  /// The names of all objects, in no order.
  package var keys: [String] { objects.withLock { Array($0.keys) } }

  package func bytes(of key: String) -> [UInt8]? { objects.withLock { $0[key]?.bytes } }

  package func remove(_ key: String) { objects.withLock { $0[key] = nil } }

  /// The usual answer to a request.
  package func usual(_ request: ScriptedServer.Request) -> ScriptedServer.Step { answer(request) }

  /// Writes an object, with the time of the epoch.
  package func set(_ key: String, _ bytes: [UInt8]) { objects.withLock { $0[key] = Object(bytes: bytes) } }

  private static func tag(_ bytes: [UInt8]) -> String {
    "\"" + Digest.digest(bytes, .md5).map { String(format: "%02x", $0) }.joined() + "\""
  }

  private static func text(_ time: Int64, _ format: String) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = format
    return formatter.string(from: Date(timeIntervalSince1970: TimeInterval(time)))
  }

  private func answer(_ request: ScriptedServer.Request) -> ScriptedServer.Step {
    let path = request.path.removingPercentEncoding ?? ""
    guard path.hasPrefix(root) else { return .answer(404) }
    let key = String(path.dropFirst(root.count).drop { $0 == "/" })
    switch request.method {
    case "GET" where isBucket && key.isEmpty: return list(request)
    case "GET" where !isBucket && key == "manifest.json": return manifest()
    case "GET", "HEAD": return read(request, key)
    case "PUT" where isBucket: return put(request, key)
    case "DELETE" where isBucket:
      objects.withLock { $0[key] = nil }
      return .head(204, [:])
    default: return .answer(405)
    }
  }

  private func read(_ request: ScriptedServer.Request, _ key: String) -> ScriptedServer.Step {
    guard let object = objects.withLock({ $0[key] }) else { return .answer(404) }
    let tag = Self.tag(object.bytes)
    if let wanted = request.fields["if-match"], wanted != tag { return .answer(412) }
    var fields = [
      "ETag": tag, "Last-Modified": Self.text(object.modified, "EEE, dd MMM yyyy HH:mm:ss 'GMT'"),
      "Content-Length": "\(object.bytes.count)",
    ]
    if request.fields["x-amz-checksum-mode"] == "ENABLED" { fields["x-amz-checksum-sha256"] = object.sha256 }
    if request.method == "HEAD" { return .head(200, fields) }
    guard let range = request.fields["range"] else { return .head(200, fields, object.bytes) }
    let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
    fields["Content-Length"] = "\(ends[1] - ends[0] + 1)"
    fields["Content-Range"] = "bytes \(ends[0])-\(ends[1])/\(object.bytes.count)"
    return .head(206, fields, Array(object.bytes[ends[0]...ends[1]]))
  }

  private func manifest() -> ScriptedServer.Step {
    let rows = objects.withLock { $0 }.map { key, object in
      ["path": key, "size": object.bytes.count, "etag": Self.tag(object.bytes)] as [String: Any]
    }
    guard let body = try? JSONSerialization.data(withJSONObject: rows) else { return .answer(500) }
    return .answer(200, [:], Array(body))
  }

  private func list(_ request: ScriptedServer.Request) -> ScriptedServer.Step {
    let query = URLComponents(string: "?" + request.query)?.queryItems ?? []
    func value(_ name: String) -> String { query.first { $0.name == name }?.value ?? "" }
    let (prefix, token, count) = (value("prefix"), value("continuation-token"), Int(value("max-keys")) ?? 1000)
    let all = objects.withLock { $0 }.filter { $0.key.hasPrefix(prefix) && $0.key > token }.sorted { $0.key < $1.key }
    var text = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>\(all.count > count)</IsTruncated>"
    for (key, object) in all.prefix(count) {
      let encoded = key.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      text += "<Contents><Key>\(encoded)</Key><LastModified>"
      text += Self.text(object.modified, "yyyy-MM-dd'T'HH:mm:ss.000'Z'") + "</LastModified>"
      text += "<ETag>&quot;\(Self.tag(object.bytes).dropFirst().dropLast())&quot;</ETag>"
      text += "<Size>\(object.bytes.count)</Size></Contents>"
    }
    if all.count > count { text += "<NextContinuationToken>\(all[count - 1].key)</NextContinuationToken>" }
    return .answer(200, [:], text + "</ListBucketResult>")
  }

  private func put(_ request: ScriptedServer.Request, _ key: String) -> ScriptedServer.Step {
    let modified = Self.epoch + writes.add(1, ordering: .relaxed).newValue
    return objects.withLock { objects in
      if request.fields["if-none-match"] == "*", objects[key] != nil {
        return .answer(412, [:], "<Error><Code>PreconditionFailed</Code></Error>")
      }
      if let source = request.fields["x-amz-copy-source"]?.removingPercentEncoding {
        // After the slash, the bucket's name and another slash.
        let from = source.dropFirst().drop { $0 != "/" }.dropFirst()
        guard let object = objects[String(from)] else {
          return .answer(404, [:], "<Error><Code>NoSuchKey</Code></Error>")
        }
        if request.fields["x-amz-copy-source-if-match"] != Self.tag(object.bytes) {
          return .answer(412, [:], "<Error><Code>PreconditionFailed</Code></Error>")
        }
        objects[key] = object
        objects[key]?.modified = modified
        return .answer(200, [:], "<CopyObjectResult><ETag>\(Self.tag(object.bytes))</ETag></CopyObjectResult>")
      }
      objects[key] = Object(
        bytes: request.body, sha256: request.fields["x-amz-checksum-sha256"], modified: modified)
      return .answer(200, ["ETag": Self.tag(request.body)])
    }
  }
}
