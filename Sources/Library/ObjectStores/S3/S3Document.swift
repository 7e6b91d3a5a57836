// Reads S3's XML with Expat: a list of objects, the result of a copy, an error. The caller limits the length of the
// document; the depth of elements and the length of one text are limited here. A document type declaration ends the
// reading, so there are no entities to expand.

import CExpat
import Primitives

final class S3DocumentReader {
  private static let maximumDepth = 8
  /// A key has at most 1024 bytes, three times that when encoded, and a token is shorter.
  private static let maximumTextBytes = 8192

  private let parser: XML_Parser
  private var path: [String] = []
  private var text: [UInt8] = []
  private var isStopped = false
  private let element: ([String], [UInt8]) -> Bool

  private init?(_ element: @escaping ([String], [UInt8]) -> Bool) {
    guard let parser = XML_ParserCreate(nil) else { return nil }
    self.parser = parser
    self.element = element
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser, { context, name, _ in S3DocumentReader.at(context).begin(name) },
      { context, _ in S3DocumentReader.at(context).end() })
    XML_SetCharacterDataHandler(parser) { context, bytes, count in
      S3DocumentReader.at(context).received(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    }
    XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in S3DocumentReader.at(context).stop() }
  }

  deinit { XML_ParserFree(parser) }

  /// Calls a function at the end of each element, with the names of the element and those around it from outside in,
  /// and the text since the last tag. Returns whether the document is complete, and the function returned `true` each
  /// time.
  static func read(_ document: [UInt8], _ element: @escaping ([String], [UInt8]) -> Bool) -> Bool {
    guard let reader = S3DocumentReader(element) else { return false }
    return withExtendedLifetime(reader) {
      let status = document.withUnsafeBytes { bytes in
        XML_Parse(
          reader.parser, bytes.bindMemory(to: CChar.self).baseAddress, Int32(clamping: bytes.count), 1)
      }
      return status == XML_STATUS_OK && !reader.isStopped
    }
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> S3DocumentReader {
    guard let context else { preconditionFailure("Expat lost its context") }
    return Unmanaged<S3DocumentReader>.fromOpaque(context).takeUnretainedValue()
  }

  private func begin(_ name: UnsafePointer<CChar>?) {
    guard !isStopped else { return }
    guard let name, path.count < Self.maximumDepth else { return stop() }
    path.append(String(cString: name))
    text = []
  }

  private func end() {
    guard !isStopped else { return }
    guard element(path, text) else { return stop() }
    path.removeLast()
    text = []
  }

  private func received(_ bytes: UnsafeRawBufferPointer) {
    guard !isStopped else { return }
    guard text.count + bytes.count <= Self.maximumTextBytes else { return stop() }
    text.append(contentsOf: bytes)
  }

  private func stop() {
    isStopped = true
    XML_StopParser(parser, XML_Bool(XML_FALSE))
  }
}

/// The result of ListObjectsV2 with `encoding-type=url`.
package struct S3List {
  package struct Entry {
    /// The key in the bucket, including the prefix.
    package var key: [UInt8] = []
    var size: Int64?
    var entityTag: String?
    /// Seconds since 1970.
    var modified: Int64?
  }

  package private(set) var entries: [Entry] = []
  package private(set) var isTruncated = false
  package private(set) var token: [UInt8]?

  /// `nil` if the document is not a list.
  package init?(_ document: [UInt8]) {
    var list: [Entry] = []
    var entry = Entry()
    var (isTruncated, token, isList) = (false, nil as [UInt8]?, false)
    let isComplete = S3DocumentReader.read(document) { path, text in
      guard path.first == "ListBucketResult" else { return false }
      isList = true
      let value = String(decoding: text, as: UTF8.self)
      switch path.dropFirst() {
      case ["IsTruncated"]: isTruncated = value == "true"
      case ["NextContinuationToken"]: token = text
      case ["Contents", "Key"]:
        guard let key = PercentEncoding.decode(text, plusIsSpace: true) else { return false }
        entry.key = key
      case ["Contents", "Size"]: entry.size = Int64(value)
      case ["Contents", "LastModified"]: entry.modified = (try? RFC3339.milliseconds(value)).map { $0 / 1000 }
      case ["Contents", "ETag"]: entry.entityTag = StoreResponseHead.strongTag(value)
      case ["Contents"]:
        list.append(entry)
        entry = Entry()
      default: break
      }
      return true
    }
    guard isComplete, isList, !isTruncated || token != nil else { return nil }
    (self.entries, self.isTruncated, self.token) = (list, isTruncated, token)
  }
}

/// The code of an `<Error>` document.
package enum S3ErrorCode {
  package static func read(_ document: [UInt8]) -> String? {
    var code: String?
    // The document may be cut off, but the code comes first.
    _ = S3DocumentReader.read(document) { path, text in
      if path == ["Error", "Code"] { code = String(decoding: text, as: UTF8.self) }
      return code == nil
    }
    return code
  }

  /// The error that a code stands for; `nil` if the status of the response is specific enough.
  static func failure(_ code: String) -> ObjectStoreError? {
    switch code {
    case "NoSuchKey", "NoSuchBucket": .notFound
    case "InvalidAccessKeyId": .accessDenied(.unknownKey)
    case "SignatureDoesNotMatch": .accessDenied(.wrongSignature)
    case "ExpiredToken", "InvalidToken", "TokenRefreshRequired": .accessDenied(.expiredToken)
    case "RequestTimeTooSkewed": .accessDenied(.clockSkew)
    case "AccessDenied", "AllAccessDisabled", "AccountProblem": .accessDenied(.forbidden)
    case "SlowDown", "RequestLimitExceeded", "ServiceUnavailable", "Busy", "TooManyRequests": .slowDown
    case "InternalError": .failed(status: 500)
    case "RequestTimeout": .failed(status: 408)
    case "PreconditionFailed", "InvalidRange": .changed
    // The object is in an archive.
    case "InvalidObjectState": .unsupported
    default: nil
    }
  }
}
