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
  /// Whether a step is queued or runs in the quick lane.
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

  /// The header is incomplete: it is read again when twice as many bytes have been received.
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

  /// A frame is made of the scans that have been received. Usually the first scan has the DC coefficients of all
  /// components. If there is one scan for each component (T.81 §G.1.1.1.1), this frame fails, and another one is made
  /// when there is a scan for each.
  mutating func scansUsed() {
    let components = header?.colorChannels ?? 1
    (neededScans, neededBytes) = neededScans < components ? (components, 0) : (.max, nil)
  }

  /// No frame is needed of the next scans.
  mutating func scansNotWanted() { neededBytes = nil }
}
