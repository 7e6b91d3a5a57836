/// An original that is being downloaded, of which the first bytes have been received. A read beyond them answers "not
/// yet", and fails if they will not come. It stays readable after the download has ended.
package protocol ArrivingSource: ByteSource {
  /// Bytes from the start that have been received; never fewer than before.
  var availableBytes: Int64 { get }
}

extension ArrivingSource {
  package var canReturnNotYet: Bool { true }

  /// The share of the bytes that has been received, 0 to 1.
  package var availableShare: Double { size > 0 ? Double(availableBytes) / Double(size) : 1 }
}
