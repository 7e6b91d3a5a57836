import ImageCodec

/// The progress of a job that makes frames from an original while it is being downloaded, and the number of bytes that
/// the next step needs. A value of ``JobTable``.
struct EarlyProgress: Sendable {
  /// The header of most files is within this many bytes.
  static let headBytes: Int64 = 64 << 10
  /// A longer header is read when the original is complete.
  static let maximumHeadBytes: Int64 = 1 << 20
  /// Bytes that are searched for the end of a scan at a time.
  static let scanStepBytes: Int64 = 64 << 10

  /// The next step begins when this many bytes, or the whole file, have been received; `nil`: no step is left.
  private(set) var neededBytes: Int64? = headBytes
  /// A step is in the quick lane.
  var isStepping = false
  /// The header, once enough bytes have been received.
  private(set) var header: ImageHeader?
  var scans = JPEGScanCounter()
  /// Scans of a progressive JPEG that have the DC coefficients of all components, as far as is known.
  private(set) var neededScans = 1

  /// Whether a step can begin.
  func isReady(_ availableBytes: Int64, of size: Int64) -> Bool {
    guard !isStepping, let neededBytes else { return false }
    return availableBytes >= min(neededBytes, size)
  }

  /// The header is not complete: it is read again when twice as many bytes have been received.
  mutating func headerIncomplete() {
    neededBytes = neededBytes.flatMap { $0 < Self.maximumHeadBytes ? 2 * $0 : nil }
  }

  mutating func headerRead(_ header: ImageHeader) {
    self.header = header
    neededBytes = header.format == .jpeg && header.raw == nil && header.isProgressive ? 0 : nil
  }

  /// The scans that are needed are not within the bytes that have been received.
  mutating func scansIncomplete(_ availableBytes: Int64, of size: Int64) {
    neededBytes = availableBytes < size ? availableBytes + Self.scanStepBytes : nil
  }

  /// A frame is made of the scans that have been received. The first scan has the DC coefficients of all components, as
  /// encoders usually write it, or there is one scan for each (T.81 §G.1.1.1.1): then the frame fails, and another is
  /// made once more scans have been received.
  mutating func scansUsed() {
    let components = header?.colorChannels ?? 1
    (neededScans, neededBytes) = neededScans < components ? (components, 0) : (.max, nil)
  }

  /// No frame is needed of the next scans.
  mutating func scansNotWanted() { neededBytes = nil }
}
