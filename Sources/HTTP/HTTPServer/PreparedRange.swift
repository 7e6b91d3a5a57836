import CPhotodSystem
import HTTPCore
import Primitives

/// An open file of which ranges are sent from a connection's queue. Its owner closes the descriptor when the last
/// reference is released.
package protocol PreparedFile: SendableFile {
  /// Whether nothing about the file has changed since its response was prepared. Asks the file system, once its bytes
  /// were found in the page cache.
  var hasSameChangeTime: Bool { get }

  /// Whether a range has bytes that must not be sent.
  func hasOverwrites(in range: Range<Int64>) -> Bool

  /// Replaces bytes that must not be sent.
  ///
  /// - Parameters:
  ///   - bytes: bytes of the file.
  ///   - offset: the position of the first of them in the file.
  func overwrite(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64)
}

/// A 206 response with one range of an open file, which a connection can send without waiting for a disk.
///
/// A short range, and one with bytes that must not be sent, is read if it is in the page cache; then the file is
/// checked, and head and body are sent with one gathered send. Of a longer range only the end is read in this way. The
/// kernel sends the rest without a copy, and the end follows if the file is still unchanged. Before that, the first and
/// the last byte of the rest are probed (`SendableFile.isCached`): the pages of a file that was read are often evicted
/// from its beginning, so a cached end does not show that the rest is cached.
package struct PreparedRange: Sendable {
  /// Maximum length of the range. Longer ranges may take the loop's time for too long, or wait for a disk.
  package static let maximumBytes = 128 << 10
  /// Ranges up to this length are copied: that costs less than the system calls that send a longer one.
  static let maximumCopiedBytes = 24 << 10
  /// Length of the end of a longer range, which is read and sent last.
  private static let endBytes = 4096

  /// Status line and fields, without `Content-Range` and `Content-Length`.
  private let head: [UInt8]
  /// The requested bytes of the representation.
  private let range: Range<Int>
  private let size: Int
  /// The position of the representation in the file.
  private let offset: Int64
  let file: any PreparedFile

  /// - Parameters:
  ///   - head: made by ``makeHead(_:)``.
  ///   - range: not empty, within the representation, and at most ``maximumBytes`` long.
  ///   - size: the length of the representation in bytes.
  ///   - offset: the position of the representation in the file.
  package init(head: [UInt8], range: Range<Int>, size: Int, offset: Int64, file: any PreparedFile) {
    precondition(!range.isEmpty && range.count <= Self.maximumBytes && range.upperBound <= size)
    self.head = head
    self.range = range
    self.size = size
    self.offset = offset
    self.file = file
  }

  /// Status line and fields of all ranges of one representation. `nil` if they are larger than
  /// ``PreparedResponse/maximumHeadBytes`` with the fields of the range.
  package static func makeHead(_ fields: [(name: String, value: String)]) -> [UInt8]? {
    let head = ResponseWriter.headPrefix(ResponseHead(206, fields), framing: .none)
    return head.count + rangeFieldBytes <= PreparedResponse.maximumHeadBytes ? head : nil
  }

  /// Maximum length of `Content-Range` and `Content-Length`, with three numbers of 19 digits and one of 6.
  private static let rangeFieldBytes = 128

  var count: Int { range.count }

  /// The first bytes of the range, which the kernel sends from the file; may be empty. The bytes after them are read
  /// into memory.
  var uncopied: Range<Int64> {
    let start = offset + Int64(range.lowerBound)
    let end = start + Int64(range.count)
    guard range.count > Self.maximumCopiedBytes, !file.hasOverwrites(in: start..<end) else { return start..<start }
    return start..<end - Int64(Self.endBytes)
  }

  /// Reads the bytes after ``uncopied`` into the buffer, which must have room for them. Returns their number; `nil` if
  /// one of them is not in the page cache, or if the file has changed.
  func read(after uncopied: Range<Int64>, into bytes: UnsafeMutableRawBufferPointer) -> Int? {
    let count = range.count - uncopied.count
    guard photod_read_cached(file.descriptor, bytes.baseAddress, count, uncopied.upperBound) == count,
      // Checked after the read, so the bytes are those of the file that was prepared.
      file.hasSameChangeTime
    else { return nil }
    file.overwrite(UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), at: uncopied.upperBound)
    return count
  }

  /// Writes the head without `Date` and the empty line. Returns the number of bytes written.
  func writeHead(to bytes: UnsafeMutableRawBufferPointer) -> Int {
    bytes.copyBytes(from: head)
    var writer = RawWriter(bytes.bindMemory(to: UInt8.self))
    writer.count = head.count
    writer.append("Content-Range: bytes ")
    writer.append(range.lowerBound)
    writer.append("-")
    writer.append(range.upperBound - 1)
    writer.append("/")
    writer.append(size)
    writer.append("\r\nContent-Length: ")
    writer.append(range.count)
    writer.append("\r\n")
    return writer.count
  }
}
