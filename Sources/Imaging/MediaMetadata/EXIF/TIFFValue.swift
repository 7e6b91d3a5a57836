/// An entry's bytes as numbers or text, by its type (TIFF 6.0 §2, "Types").
struct TIFFValue {
  let type: Int
  let bytes: ArraySlice<UInt8>
  let isBigEndian: Bool

  static let text = 2
  static let undefined = 7

  /// The value converted only by its type: one number or an array of numbers, rationals as decimal numbers, text as
  /// text. Undefined bytes become text if they are readable, as versions and titles are; otherwise few bytes are listed
  /// one by one, and many are counted.
  var metadataValue: MetadataValue {
    switch type {
    case Self.text: return .text(MetadataText.decoded(bytes))
    case Self.undefined where isReadable: return .text(MetadataText.decoded(bytes))
    case Self.undefined where bytes.count > MetadataLimits.entryBytes: return .bytes(bytes.count)
    case Self.undefined: return .list(bytes.map { .integer(Int($0)) })
    default:
      guard count <= MetadataLimits.entryNumbers else { return .bytes(bytes.count) }
      return .list((0..<count).map { element($0) })
    }
  }

  private var isReadable: Bool {
    let text = bytes.prefix { $0 != 0 }
    // Only padding may follow.
    return text.count >= 4 && bytes.count <= MetadataLimits.textBytes
      && bytes.dropFirst(text.count).allSatisfy { $0 == 0 }
      && text.allSatisfy { $0 >= 0x20 && $0 != 0x7F } && String(validating: text, as: UTF8.self) != nil
  }

  var count: Int { TIFFBlock.typeBytes(type).map { bytes.count / $0 } ?? 0 }

  /// All values as decimal numbers; `nil` for a value that is not a number. Empty for text.
  var decimals: [Double?] {
    type == Self.text
      ? []
      : (0..<min(count, MetadataLimits.entryNumbers)).map {
        switch element($0) {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
      }
  }

  var integer: Int? {
    guard count > 0, case .integer(let value) = element(0) else { return nil }
    return value
  }

  private func element(_ i: Int) -> MetadataValue {
    switch type {
    case 1, 7: .integer(Int(truncatingIfNeeded: raw(i, 1)))
    case 6: .integer(Int(Int8(truncatingIfNeeded: raw(i, 1))))
    case 3: .integer(Int(truncatingIfNeeded: raw(i, 2)))
    case 8: .integer(Int(Int16(truncatingIfNeeded: raw(i, 2))))
    case 4, 13: .integer(Int(truncatingIfNeeded: raw(i, 4)))
    case 9: .integer(Int(Int32(truncatingIfNeeded: raw(i, 4))))
    case 5: ratio(Double(raw(i * 2, 4)), Double(raw(i * 2 + 1, 4)))
    case 10:
      ratio(Double(Int32(truncatingIfNeeded: raw(i * 2, 4))), Double(Int32(truncatingIfNeeded: raw(i * 2 + 1, 4))))
    case 11: .decimal(Double(Float(bitPattern: UInt32(truncatingIfNeeded: raw(i, 4)))))
    case 12: .decimal(Double(bitPattern: raw(i, 8)))
    default: .null
    }
  }

  private func ratio(_ numerator: Double, _ denominator: Double) -> MetadataValue {
    .decimal(denominator == 0 ? nil : numerator / denominator)
  }

  /// The i-th number, of `size` bytes.
  private func raw(_ i: Int, _ size: Int) -> UInt64 {
    let start = bytes.startIndex + i * size
    var value: UInt64 = 0
    for i in 0..<size { value = value << 8 | UInt64(bytes[isBigEndian ? start + i : start + size - 1 - i]) }
    return value
  }
}
