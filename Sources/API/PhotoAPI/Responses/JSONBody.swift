import HTTPCore
import JSONText

/// Encodes JSON bodies: UTF-8, with sorted keys so that equal responses have equal bytes.
enum JSONBody {
  static let mediaType = "application/json"

  static func encode(_ value: some Encodable) -> [UInt8] {
    do {
      return try JSONText.encode(value)
    } catch {
      // All our payload types can be encoded as JSON.
      preconditionFailure("a response that can't be encoded as JSON: \(error)")
    }
  }
}

extension HTTPResponse {
  /// JSON that no cache stores.
  ///
  /// - Parameter location: the path of the new resource, for 201.
  static func json(_ value: some Encodable, status: HTTPStatus = .ok, location: String? = nil) -> HTTPResponse {
    json(body: JSONBody.encode(value), status: status, location: location)
  }

  /// Encoded JSON that no cache stores.
  static func json(body: [UInt8], status: HTTPStatus = .ok, location: String? = nil) -> HTTPResponse {
    var fields = [(name: "Content-Type", value: JSONBody.mediaType), ("Cache-Control", "no-store")]
    if let location { fields.append(("Location", location)) }
    return HTTPResponse(status, fields, body: body)
  }
}

/// A JSON or other text representation of a resource, with content coding and conditional requests.
struct JSONResponse {
  private let body: [UInt8]
  private let tag: String
  private let fields: [(name: String, value: String)]

  /// - Parameters:
  ///   - tag: the strong entity tag of the uncompressed body. The gzip coding gets its own tag.
  ///   - more: further fields of the response.
  init(
    _ body: [UInt8], tag: String, cacheControl: String, link: String? = nil, mediaType: String = JSONBody.mediaType,
    more: [(name: String, value: String)] = []
  ) {
    self.body = body
    self.tag = tag
    var fields = [(name: "Content-Type", value: mediaType), ("Cache-Control", cacheControl)] + more
    if body.count >= ContentCoding.minimumGzipBytes { fields.append(("Vary", "Accept-Encoding")) }
    if let link { fields.append(("Link", link)) }
    self.fields = fields
  }

  /// A 304 response, if it can be decided without making the body. `nil`: the body must be made.
  ///
  /// - Parameter tag: the tag as given to ``init(_:tag:cacheControl:link:)``. The body's length, and so its coding, is
  ///   not known here: the tag of either coding matches.
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

  /// The response to a request: 200, 304 or 412.
  ///
  /// - Parameter gzipped: returns the gzip body. By default the body is compressed here, which takes time.
  func response(to head: RequestHead, gzipped: () -> [UInt8]? = { nil }) -> HTTPResponse {
    var coding = ContentCoding.identity
    if body.count >= ContentCoding.minimumGzipBytes {
      coding = ContentCoding(acceptEncoding: head.value(of: .acceptEncoding))
    }
    let tag = coding.entityTag(tag)
    switch Preconditions.evaluate(head, Validators(entityTag: tag)) {
    case .failed: return Problem.preconditionFailed.response
    case .notModified: return HTTPResponse(.notModified, fields.filter { $0.name != "Content-Type" } + [("ETag", tag)])
    case .proceed: break
    }
    guard coding == .gzip, let compressed = gzipped() ?? ContentCoding.gzip(body) else {
      return HTTPResponse(.ok, fields + [("ETag", self.tag)], body: body)
    }
    return HTTPResponse(.ok, fields + [("ETag", tag), ("Content-Encoding", "gzip")], body: compressed)
  }
}
