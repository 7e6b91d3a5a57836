/// An encoder's output file in memory. Its length is limited, so that its memory is known in advance.
final class EncodedFile {
  private(set) var bytes: [UInt8] = []
  private let limit: Int
  /// Whether bytes were refused because of the limit.
  private(set) var isFull = false

  /// - Parameters:
  ///   - expected: the usual length for such a picture. This much is allocated at once, because growing copies the
  ///     bytes, and unwritten pages cost nothing. If it is not enough, the whole limit is allocated.
  ///   - limit: further bytes are refused.
  init(expected: Int, limit: Int) {
    self.limit = limit
    bytes.reserveCapacity(min(expected, limit))
  }

  /// Peak memory of such a file: the first allocation, and the limit in addition.
  static func peakBytes(expected: Int, limit: Int) -> Int { min(expected, limit) + limit }

  /// Appends bytes. Returns false if they do not fit.
  func append(_ more: UnsafeBufferPointer<UInt8>) -> Bool {
    let count = bytes.count + more.count
    if count > limit {
      isFull = true
      return false
    }
    if count > bytes.capacity { bytes.reserveCapacity(limit) }
    bytes.append(contentsOf: more)
    return true
  }

  /// The error for an encoder that failed because of the limit.
  var limitError: CodecError { .limitExceeded("the size of the encoded picture", limit: limit, found: limit + 1) }
}
