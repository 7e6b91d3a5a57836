// The binary form of ISO 21496-1 annex C: big-endian, each number as a fraction of two 32-bit integers.

extension GainMapMetadata {
  /// The bytes before the metadata in a JPEG's APP2 (annex C.4).
  package static let signature: [UInt8] = Array("urn:iso:std:iso:ts:21496:-1".utf8) + [0]

  /// In the APP2 of the base rendition: the two versions only. The map's own APP2 has the rest.
  package static let versionBlock: [UInt8] = [0, 0, 0, 0]

  private enum Flag {
    static let multichannel: UInt8 = 0x80
    static let baseColorSpace: UInt8 = 0x40
    /// Not in the published standard, but libultrahdr writes it: all fractions have one denominator.
    static let commonDenominator: UInt8 = 0x08
  }

  /// - Parameter bytes: the block from its minimum version. Further bytes are ignored, as the standard asks.
  package init?(iso bytes: some Collection<UInt8>) {
    var fields = Fields(rest: Array(bytes.prefix(Self.maximumBytes))[...])
    // A higher minimum version can't be read; any version of the writer can.
    guard fields.number(2) == 0, fields.number(2) != nil, let flags = fields.number(1).map({ UInt8($0) }) else {
      return nil
    }
    if flags & Flag.commonDenominator != 0 {
      guard let denominator = fields.number(4), denominator > 0 else { return nil }
      fields.commonDenominator = denominator
    }
    guard let base = fields.fraction(isSigned: false), let alternate = fields.fraction(isSigned: false) else {
      return nil
    }
    var channels: [Channel] = []
    for _ in 0..<(flags & Flag.multichannel != 0 ? 3 : 1) {
      guard let minimum = fields.fraction(isSigned: true), let maximum = fields.fraction(isSigned: true),
        let gamma = fields.fraction(isSigned: false), let baseOffset = fields.fraction(isSigned: true),
        let alternateOffset = fields.fraction(isSigned: true)
      else { return nil }
      channels.append(
        Channel(
          minimum: minimum, maximum: maximum, gamma: gamma, baseOffset: baseOffset, alternateOffset: alternateOffset))
    }
    self.init(
      channels: channels, baseHeadroom: base, alternateHeadroom: alternate,
      usesBaseColorSpace: flags & Flag.baseColorSpace != 0)
  }

  /// - Parameter bytes: the data of a `tmap` item: a version, then the block (ISO/IEC 23008-12 §6.6.2.4).
  package init?(toneMap bytes: some Collection<UInt8>) {
    guard bytes.first == 0 else { return nil }
    self.init(iso: bytes.dropFirst())
  }

  /// Five fractions of eight bytes for each of three channels, two for the headrooms, and the head.
  package static let maximumBytes = 5 + 2 * 8 + 3 * 5 * 8

  /// The block with its versions.
  package var isoBlock: [UInt8] {
    var bytes = Self.versionBlock
    bytes.append((channels.count == 3 ? Flag.multichannel : 0) | (usesBaseColorSpace ? Flag.baseColorSpace : 0))
    func append(_ value: Double) {
      // Exact for offsets such as 1/64, else within a millionth.
      let denominator = 1 << 20
      let numerator = Int32(clamping: Int((value * Double(denominator)).rounded()))
      for number in [UInt32(bitPattern: numerator), UInt32(denominator)] {
        bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
      }
    }
    append(baseHeadroom)
    append(alternateHeadroom)
    for channel in channels {
      append(channel.minimum)
      append(channel.maximum)
      append(channel.gamma)
      append(channel.baseOffset)
      append(channel.alternateOffset)
    }
    return bytes
  }

  /// Reads numbers in order.
  private struct Fields {
    var rest: ArraySlice<UInt8>
    var commonDenominator: Int?

    mutating func number(_ bytes: Int) -> Int? {
      guard rest.count >= bytes else { return nil }
      defer { rest = rest.dropFirst(bytes) }
      return rest.prefix(bytes).reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func fraction(isSigned: Bool) -> Double? {
      guard let bits = number(4), let denominator = commonDenominator ?? number(4), denominator > 0 else { return nil }
      let numerator = isSigned ? Int(Int32(truncatingIfNeeded: bits)) : bits
      return Double(numerator) / Double(denominator)
    }
  }
}
