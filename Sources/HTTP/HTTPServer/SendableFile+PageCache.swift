import CPhotodSystem
import HTTPCore

extension SendableFile {
  /// The distance in bytes between two probes: no less than the kernel reads with one request of the disk.
  private static var probedBytes: Int64 { 128 << 10 }

  /// Whether a range is in the page cache. Probes the first byte, because the kernel usually evicts the pages of a file
  /// in the order in which they were read, and the last byte of each 128 KiB, because the kernel reads ahead in order.
  /// Does not notice pages in between that were evicted on their own. Never waits for the disk. False on a file system
  /// that can't tell.
  package func isCached(_ range: Range<Int64>) -> Bool {
    guard !range.isEmpty else { return true }
    var position = range.lowerBound
    var end = range.lowerBound
    while true {
      var byte: UInt8 = 0
      guard photod_read_cached(descriptor, &byte, 1, position) == 1 else { return false }
      if end == range.upperBound { return true }
      end = min(end + Self.probedBytes, range.upperBound)
      position = end - 1
    }
  }
}
