import FoundationEssentials
import HTTPCore

/// JSON as it is sent: UTF-8, keys sorted so that equal answers are equal bytes.
enum JSONBody {
  static let mediaType = "application/json"

  static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return [UInt8](try encoder.encode(value))
    } catch {
      // Our own shapes hold nothing that JSON can't say.
      preconditionFailure("an answer that is no JSON: \(error)")
    }
  }
}

/// A JSON representation of a resource, in whichever coding the client wants, if it wants it at all.
struct JSONAnswer {
  private let body: [UInt8]
  private let tag: String
  private let fields: [(name: String, value: String)]

  /// - Parameters:
  ///   - tag: the strong entity tag of the body as it is; in gzip it gets one of its own.
  init(_ body: [UInt8], tag: String, cacheControl: String, link: String? = nil) {
    self.body = body
    self.tag = tag
    var fields = [(name: "Content-Type", value: JSONBody.mediaType), ("Cache-Control", cacheControl)]
    if body.count >= ContentCoding.minimumBytes { fields.append(("Vary", "Accept-Encoding")) }
    if let link { fields.append(("Link", link)) }
    self.fields = fields
  }

  /// 304, for who has a representation whose body need not be made to know that; `nil`: it must be made.
  ///
  /// - Parameter tag: as ``init(_:tag:cacheControl:link:)`` gets it. How long the body is, and so its coding, is not known: who has
  ///   either has what is current.
  static func notModified(_ head: RequestHead, tag: String, cacheControl: String) -> HTTPResponse? {
    guard head.has(.ifNoneMatch), !head.has(.ifMatch) else { return nil }
    let codings = [ContentCoding.identity, ContentCoding(acceptEncoding: head.value(of: .acceptEncoding))]
    for tag in codings.map({ $0.entityTag(tag) })
    where Preconditions.evaluate(head, Validators(entityTag: tag)) == .notModified {
      return HTTPResponse(
        .notModified, [("Cache-Control", cacheControl), ("Vary", "Accept-Encoding"), ("ETag", tag)])
    }
    return nil
  }

  /// The answer to a request: 200, 304 or 412.
  ///
  /// - Parameter gzipped: the body in gzip; by default it is compressed here, which takes time.
  func response(to head: RequestHead, gzipped: () -> [UInt8]? = { nil }) -> HTTPResponse {
    var coding = ContentCoding.identity
    if body.count >= ContentCoding.minimumBytes {
      coding = ContentCoding(acceptEncoding: head.value(of: .acceptEncoding))
    }
    let tag = coding.entityTag(tag)
    switch Preconditions.evaluate(head, Validators(entityTag: tag)) {
    case .failed: return Problem.preconditionFailed.response
    case .notModified: return HTTPResponse(.notModified, fields.filter { $0.name != "Content-Type" } + [("ETag", tag)])
    case .proceed: break
    }
    guard coding == .gzip, let compressed = gzipped() ?? ContentCoding.gzipped(body) else {
      return HTTPResponse(.ok, fields + [("ETag", self.tag)], body: body)
    }
    return HTTPResponse(.ok, fields + [("ETag", tag), ("Content-Encoding", "gzip")], body: compressed)
  }
}
