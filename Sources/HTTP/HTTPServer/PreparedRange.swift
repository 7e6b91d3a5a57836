import CPhotodSystem
import HTTPCore

/// An open file of which ranges are sent from a connection's queue. Its owner closes the descriptor when the last
/// reference is released.
package protocol PreparedFile: SendableFile {
  /// Whether nothing about the file has changed since its response was prepared. Asks the file system, once its bytes
  /// were found in the page cache.
  var isUntouched: Bool { get }

  /// Replaces bytes that must not be sent.
  ///
  /// - Parameters:
  ///   - bytes: bytes of the file.
  ///   - offset: the position of the first of them in the file.
  func overwrite(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64)
}

/// A 206 response with one range of an open file, which a connection can send without waiting for a disk: it reads the
/// bytes only if they are in the page cache, then checks the file, and sends head and body with one gathered send.
package struct PreparedRange: Sendable {
  /// Maximum length of the range. Longer ranges are better sent by the kernel, without a copy.
  package static let maximumBytes = 128 << 10

  /// Status line and fields, without `Content-Range` and `Content-Length`.
  private let head: [UInt8]
  /// Of the representation.
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

  /// Reads the bytes into the buffer, which must have room for them. Returns `false` if a byte is not in the page cache,
  /// or if the file has changed.
  func read(into bytes: UnsafeMutableRawBufferPointer) -> Bool {
    let start = offset + Int64(range.lowerBound)
    guard photod_read_cached(file.descriptor, bytes.baseAddress, range.count, start) == range.count,
      // After the read: the bytes are those of the file that was prepared.
      file.isUntouched
    else { return false }
    file.overwrite(UnsafeMutableRawBufferPointer(rebasing: bytes[..<range.count]), at: start)
    return true
  }

  /// Writes the head without `Date` and the empty line. Returns the number of bytes written.
  func writeHead(to bytes: UnsafeMutableRawBufferPointer) -> Int {
    bytes.copyBytes(from: head)
    var count = head.count
    func add(_ text: StaticString) {
      UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(
        from: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
      count += text.utf8CodeUnitCount
    }
    func add(_ number: Int) {
      var (rest, digits) = (number, 1)
      while rest >= 10 { (rest, digits) = (rest / 10, digits + 1) }
      rest = number
      for i in (count..<count + digits).reversed() {
        bytes[i] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      }
      count += digits
    }
    add("Content-Range: bytes ")
    add(range.lowerBound)
    add("-")
    add(range.upperBound - 1)
    add("/")
    add(size)
    add("\r\nContent-Length: ")
    add(range.count)
    add("\r\n")
    return count
  }
}
