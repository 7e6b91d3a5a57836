import CPhotodSystem
import HTTPCore

extension SendableFile {
  /// Whether a range is in the page cache. It is probed at the last byte of each step: the kernel reads ahead in order,
  /// so a step whose last page is there is nearly always there as a whole. Never waits for the disk. False on a file
  /// system that can't tell.
  package func isCached(_ range: Range<Int64>, step: Int64) -> Bool {
    var end = range.lowerBound
    while end < range.upperBound {
      end = min(end + step, range.upperBound)
      var byte: UInt8 = 0
      guard photod_read_cached(descriptor, &byte, 1, end - 1) == 1 else { return false }
    }
    return true
  }
}
