/// A file in memory as an encoder writes it: never longer than its limit, so that what it takes is known before.
final class EncodedFile {
  private(set) var bytes: [UInt8] = []
  private let limit: Int
  /// What would have been too much was refused.
  private(set) var isFull = false

  /// - Parameters:
  ///   - expected: what such a picture usually takes. So much is set aside at once, for growing leaves a copy behind and pages
  ///     that are not written to cost nothing; and if it is not enough, all up to the limit.
  ///   - limit: what is refused beyond.
  init(expected: Int, limit: Int) {
    self.limit = limit
    bytes.reserveCapacity(min(expected, limit))
  }

  /// What such a file takes at its height: what was set aside at first, and beside it the limit.
  static func peakBytes(expected: Int, limit: Int) -> Int { min(expected, limit) + limit }

  /// False: they do not fit.
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

  /// Why an encoder that was refused failed.
  var refusal: CodecError { .limitExceeded("the size of the encoded picture", limit: limit, found: limit + 1) }
}
