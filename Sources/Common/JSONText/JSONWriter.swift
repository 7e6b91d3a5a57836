/// The text of a value so far, and its containers that have not ended yet.
struct JSONWriter {
  private var bytes: [UInt8] = []

  /// An object or array without its closing bracket.
  private struct Container {
    let isObject: Bool
    /// The index of its first member in `members`.
    let firstMember: Int
    /// The offset of its last value; `nil` if it has none.
    var valueStart: Int?
  }

  /// A key and its value, which ends where the next member begins or the object ends.
  private struct Member {
    /// The bytes of the key, without quotation marks.
    let key: Range<Int>
    var start: Int { key.lowerBound - 1 }
  }

  /// From the outermost to the innermost.
  private var containers: [Container] = []
  /// The members of all objects in `containers`, in that order.
  private var members: [Member] = []

  // MARK: Containers

  /// Begins an object or array as the value at a depth, or continues the one that the same value has begun.
  mutating func open(isObject: Bool, at depth: Int) {
    close(to: depth + 1)
    if containers.count > depth {
      precondition(containers[depth].isObject == isObject, "a value that is both an object and an array")
      return
    }
    precondition(containers.count == depth, "a value outside of its container")
    bytes.append(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
    containers.append(Container(isObject: isObject, firstMember: members.count))
  }

  /// Ends all containers but the outermost `count`.
  mutating func close(to count: Int) {
    while containers.count > count {
      endValue()
      let container = containers.removeLast()
      if container.isObject { endObject(container) }
      bytes.append(container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    }
  }

  /// Begins the next value of the array at a depth.
  mutating func beginElement(at depth: Int) {
    beginValue(at: depth)
    containers[depth].valueStart = bytes.count
  }

  /// Begins a member of the object at a depth.
  mutating func beginMember(_ key: String, at depth: Int) {
    beginValue(at: depth)
    let start = bytes.count
    append(key)
    members.append(Member(key: start + 1..<bytes.count - 1))
    bytes.append(UInt8(ascii: ":"))
    containers[depth].valueStart = bytes.count
  }

  private mutating func beginValue(at depth: Int) {
    precondition(depth < containers.count, "a container that has ended")
    close(to: depth + 1)
    if containers[depth].valueStart == nil { return }
    endValue()
    bytes.append(UInt8(ascii: ","))
  }

  /// A value that encoded nothing is an object without members.
  private mutating func endValue() {
    if containers.last?.valueStart == bytes.count { append("{}" as StaticString) }
  }

  /// Ends all containers and returns the text. The writer is empty afterwards.
  mutating func finish() -> [UInt8] {
    close(to: 0)
    defer { bytes = [] }
    return bytes.isEmpty ? Array("{}".utf8) : bytes
  }

  // MARK: Order of members

  private mutating func endObject(_ object: Container) {
    let last = members.count - 1
    if last > object.firstMember, !(object.firstMember..<last).allSatisfy({ precedes($0, $0 + 1) }) {
      sortMembers(from: object.firstMember)
    }
    members.removeSubrange(object.firstMember...)
  }

  /// Sorts all members from the one with that index to the last by their keys. Of equal keys, the last one stays.
  private mutating func sortMembers(from first: Int) {
    // Swift's sort is stable.
    let order = (first..<members.count).sorted(by: precedes)
    var sorted: [UInt8] = []
    sorted.reserveCapacity(bytes.count - members[first].start)
    for (index, next) in zip(order, order.dropFirst() + [members.count]) {
      if next < members.count, !precedes(index, next) { continue }
      if !sorted.isEmpty { sorted.append(UInt8(ascii: ",")) }
      let end = index + 1 < members.count ? members[index + 1].start - 1 : bytes.count
      sorted += bytes[members[index].start..<end]
    }
    bytes.replaceSubrange(members[first].start..., with: sorted)
  }

  /// Whether the key of one member, by its bytes, comes before that of another one.
  private func precedes(_ one: Int, _ other: Int) -> Bool {
    let (one, other) = (members[one].key, members[other].key)
    return bytes.withUnsafeBytes { $0[one].lexicographicallyPrecedes($0[other]) }
  }

  // MARK: Values

  mutating func append(_ literal: StaticString) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  mutating func append(_ number: some FixedWidthInteger) { bytes.append(contentsOf: number.description.utf8) }

  /// The shortest text that is read as the same number, without a fraction of zero.
  mutating func append(_ number: some BinaryFloatingPoint & LosslessStringConvertible) throws {
    guard number.isFinite else {
      throw EncodingError.invalidValue(
        number, EncodingError.Context(codingPath: [], debugDescription: "JSON has no number for \(number)."))
    }
    let text = number.description
    bytes.append(contentsOf: text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...])
  }

  /// Appends a string in quotation marks, and escapes only what RFC 8259 §7 demands.
  mutating func append(_ string: String) {
    bytes.append(UInt8(ascii: "\""))
    var string = string
    string.withUTF8 { text in
      var written = 0
      for (index, byte) in text.enumerated()
      where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        bytes.append(contentsOf: text[written..<index])
        appendEscaped(byte)
        written = index + 1
      }
      bytes.append(contentsOf: text[written...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append("\\\"" as StaticString)
    case UInt8(ascii: "\\"): append("\\\\" as StaticString)
    case 0x08: append("\\b" as StaticString)
    case 0x09: append("\\t" as StaticString)
    case 0x0A: append("\\n" as StaticString)
    case 0x0C: append("\\f" as StaticString)
    case 0x0D: append("\\r" as StaticString)
    default:
      append(byte < 0x10 ? "\\u000" : "\\u001" as StaticString)
      bytes.append(Array("0123456789abcdef".utf8)[Int(byte & 15)])
    }
  }
}
