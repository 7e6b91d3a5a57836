/// Writes bytes one after the other into memory that its creator owns, for text of a hundred thousand values: an array
/// checks its uniqueness and capacity at each append.
///
/// The creator passes memory for the longest possible text; a write beyond it is a programming error that stops the
/// process.
package struct RawWriter: ~Copyable {
  @usableFromInline package let memory: UnsafeMutableBufferPointer<UInt8>
  /// The number of bytes written so far.
  package var count = 0

  /// - Parameter memory: must outlive the writer, and is not initialized.
  @inlinable package init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

  @inlinable package mutating func append(_ byte: UInt8) {
    precondition(count < memory.count)
    memory[count] = byte
    count += 1
  }

  @inlinable package mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inlinable package mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  @inlinable package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count - count)
    guard let start = bytes.baseAddress, let end = memory.baseAddress else { return }
    UnsafeMutableRawPointer(end + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends a number that is not negative, with at least `digits` digits.
  @inlinable package mutating func append(_ number: Int, digits: Int = 1) {
    precondition(number >= 0)
    var width = 1
    var rest = number / 10
    while rest > 0 {
      width += 1
      rest /= 10
    }
    width = max(width, digits)
    precondition(width <= memory.count - count)
    rest = number
    for index in (count..<count + width).reversed() {
      memory[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    count += width
  }

  /// Appends base64 with padding (RFC 4648 §4): four letters for each three bytes, the last ones padded with `=`.
  @inlinable package mutating func append(base64 bytes: UnsafeRawBufferPointer) {
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

  @usableFromInline package static let letters: StaticString =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
}
