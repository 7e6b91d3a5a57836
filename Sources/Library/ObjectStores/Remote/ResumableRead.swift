// Checks of the responses to reads, for HTTP origins and buckets: RFC 9110 §13.1.1 (If-Match), §14.4 (Content-Range).

/// A read of an object in one or more requests: makes the header fields of each request, and checks each response.
struct ResumableRead: Sendable {
  let offset: Int64
  let length: Int64
  let size: Int64
  let entityTag: String

  /// Throws `.changed` if the identity is of another kind of store: then it is not this store's object.
  init(_ range: ObjectRange?, of identity: ObjectIdentity) throws(ObjectStoreError) {
    guard case .entityTag(let tag) = identity.version else { throw .changed }
    precondition((range?.offset ?? 0) + (range?.length ?? 0) <= identity.size, "a range beyond the object")
    offset = range?.offset ?? 0
    length = range?.length ?? identity.size
    size = identity.size
    entityTag = tag
  }

  /// The fields of the request that continues after a number of bytes.
  func fields(after received: Int64) -> [(name: String, value: String)] {
    var fields = [(name: "If-Match", value: entityTag), (name: "Accept-Encoding", value: "identity")]
    if offset + received > 0 || length < size {
      fields.append((name: "Range", value: "bytes=\(offset + received)-\(offset + length - 1)"))
    }
    return fields
  }

  /// Checks a 2xx response, and returns the number of bytes to expect.
  func accept(_ head: StoreResponseHead, after received: Int64) throws(ObjectStoreError) -> Int64 {
    guard let found = head.entityTag else { throw .malformed(.noEntityTag) }
    guard found == entityTag else { throw .changed }
    let rest = length - received
    switch head.status {
    case 206:
      guard let range = Self.contentRange(head["content-range"] ?? "") else { throw .malformed(.wrongRange) }
      if let total = range.total, total != size { throw .changed }
      guard range.first == offset + received, range.last == offset + length - 1 else { throw .malformed(.wrongRange) }
    case 200:
      guard offset + received == 0, length == size else { throw .malformed(.wrongRange) }
      if let announced = head.contentLength, announced != size { throw .changed }
    default: throw .malformed(.unexpectedStatus(head.status))
    }
    if let announced = head.contentLength, announced != rest { throw .malformed(.wrongLength) }
    return rest
  }

  /// Reads `bytes first-last/total`; the total may be `*`.
  private static func contentRange(_ text: String) -> (first: Int64, last: Int64, total: Int64?)? {
    guard text.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), 0 <= first, first <= last else {
      return nil
    }
    if parts[1] == "*" { return (first, last, nil) }
    guard let total = Int64(parts[1]), last < total else { return nil }
    return (first, last, total)
  }
}

extension StoreResponseHead {
  /// The error that a status other than 2xx stands for.
  var failure: ObjectStoreError {
    switch status {
    case 404, 410: .notFound
    case 412, 416: .changed
    case 401, 403, 407: .accessDenied(.forbidden)
    case 405, 501: .unsupported
    case 429, 503: .slowDown
    case 300..<400 where status != 304: .redirected(status: status)
    case 408, 500..<600: .failed(status: status)
    default: .malformed(.unexpectedStatus(status))
    }
  }

  /// The description of an object from the fields of a HEAD or GET.
  ///
  /// - Parameter size: the size of the object, if the response has only a part of it.
  func description(size: Int64? = nil, sha256: [UInt8]? = nil) throws(ObjectStoreError) -> ObjectDescription {
    guard let entityTag else { throw .malformed(.noEntityTag) }
    guard let size = size ?? contentLength, size >= 0 else { throw .malformed(.wrongLength) }
    return ObjectDescription(
      identity: ObjectIdentity(size: size, version: .entityTag(entityTag)),
      modified: fields["last-modified"].flatMap(HTTPTime.seconds), sha256: sha256)
  }
}
