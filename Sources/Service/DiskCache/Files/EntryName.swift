/// The entries of one kind and one epoch: one folder on disk, and one total in the index.
struct EntryGroup: Sendable, Hashable {
  let kind: DiskStore.Kind
  let epoch: UInt32
}

/// Where an entry is: `frame-3/ab/cdef0123456789abcdef0123456789`. The last two components are the 32 hexadecimal
/// digits of the key.
struct EntryName: Sendable, Hashable {
  let group: EntryGroup
  let key: DiskStore.Key
}

extension EntryName {
  var subject: DiskStore.Subject { DiskStore.Subject(number: key.high) }
}

extension EntryGroup {
  var folderName: String {
    switch kind {
    case .frame: "frame-\(epoch)"
    case .derivative: "derivative-\(epoch)"
    }
  }

  /// `nil` if the name is not one of the cache's folders.
  init?(folderName name: [UInt8]) {
    let text = String(decoding: name, as: UTF8.self)
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let epoch = UInt32(parts[1]) else { return nil }
    switch parts[0] {
    case "frame": self.init(kind: .frame, epoch: epoch)
    case "derivative": self.init(kind: .derivative, epoch: epoch)
    default: return nil
    }
    guard folderName == text else { return nil }
  }
}

extension DiskStore.Key {
  /// The first of the key's 16 bytes, which names its folder.
  var prefix: UInt8 { UInt8(truncatingIfNeeded: high >> 56) }

  /// The key of a file name, which has all hexadecimal digits but the first two. `nil` if the name is not one of the
  /// cache's files.
  init?(prefix: UInt8, fileName: [UInt8]) {
    guard fileName.count == 30 else { return nil }
    var (high, low) = (UInt64(prefix), UInt64(0))
    for (position, digit) in fileName.enumerated() {
      guard let value = Hexadecimal.value(of: digit) else { return nil }
      if position < 14 { high = high << 4 | value } else { low = low << 4 | value }
    }
    self.init(high: high, low: low)
  }
}

enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Accepts only lower-case digits, because each key must have exactly one name.
  static func value(of digit: UInt8) -> UInt64? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
    default: nil
    }
  }

  /// Appends the last `count` digits of a value.
  static func append(_ value: UInt64, digits count: Int, to text: inout [UInt8]) {
    for position in (0..<count).reversed() { text.append(digits[Int(value >> UInt64(position * 4) & 15)]) }
  }
}
