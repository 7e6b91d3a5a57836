/// Writes bytes one after the other into memory that its creator owns, for text of a hundred thousand values: an array
/// checks its uniqueness and capacity at each append.
///
/// The creator passes memory for the longest possible text; a write beyond it is a programming error that stops the
/// process.
package struct RawWriter: ~Copyable {
  private let memory: UnsafeMutableBufferPointer<UInt8>
  /// The number of bytes written so far.
  package private(set) var count = 0

  /// - Parameter memory: must outlive the writer, and is not initialized.
  package init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

  package mutating func append(_ byte: UInt8) {
    precondition(count < memory.count)
    memory[count] = byte
    count += 1
  }

  package mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  package mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count - count)
    guard let start = bytes.baseAddress, let end = memory.baseAddress else { return }
    UnsafeMutableRawPointer(end + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends a number that is not negative, with at least `digits` digits.
  package mutating func append(_ number: Int, digits: Int = 1) {
    var unit = 1
    var width = 1
    while width < digits || number / unit >= 10 {
      unit *= 10
      width += 1
    }
    while unit > 0 {
      append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / unit % 10))
      unit /= 10
    }
  }

  /// Appends base64 with padding (RFC 4648 §4): four letters for each three bytes, the last ones padded with `=`.
  package mutating func append(base64 bytes: UnsafeRawBufferPointer) {
    precondition((bytes.count + 2) / 3 * 4 <= memory.count - count)
    let letters = Self.letters.utf8Start
    var index = 0
    while index < bytes.count {
      let present = min(3, bytes.count - index)
      let second = present > 1 ? UInt32(bytes[index + 1]) : 0
      let third = present > 2 ? UInt32(bytes[index + 2]) : 0
      let group = UInt32(bytes[index]) << 16 | second << 8 | third
      memory[count] = letters[Int(group >> 18)]
      memory[count + 1] = letters[Int(group >> 12 & 63)]
      memory[count + 2] = present > 1 ? letters[Int(group >> 6 & 63)] : UInt8(ascii: "=")
      memory[count + 3] = present > 2 ? letters[Int(group & 63)] : UInt8(ascii: "=")
      count += 4
      index += 3
    }
  }

  private static let letters: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
}
