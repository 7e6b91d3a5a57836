// Writes the container of an AVIF (AV1 Image File Format 1.1, ISO/IEC 23008-12) around the data of its encoder.
//
//   ftyp, meta (hdlr, pitm, iloc, iinf, iref, iprp), mdat: colours, then alpha

import PhotoModel

/// A still picture, and its alpha as an auxiliary item.
package struct AVIFFile {
  private static let alphaType = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"

  private let encoding: WorkerEncoding
  private let profile: [UInt8]?
  private let colors: Item
  private let alpha: Item?

  /// An item's data, and the fields of `av1C` that are in its sequence header.
  private struct Item {
    let data: ArraySlice<UInt8>
    let profile: Int
    let level: Int
    let isMonochrome: Bool
    let isDeep: Bool

    /// - Throws: `encodingFailed` unless the data begins with a reduced sequence header (AV1 §5.5.1).
    init(_ coded: [UInt8], isMonochrome: Bool, isDeep: Bool) throws(CodecError) {
      var data = coded[...]
      // Temporal delimiters should be left out (AV1 Image File Format §2.1).
      while data.starts(with: [0x12, 0x00]) { data = data.dropFirst(2) }
      // Type 1 with a size, of one byte for a still picture.
      let head = Array(data.prefix(4))
      guard head.count == 4, head[0] == 0x0A, head[1] < 0x80 else {
        throw .encodingFailed("the AVIF encoder sent no sequence header")
      }
      // seq_profile (3 bits), still_picture, reduced_still_picture_header, seq_level_idx (5 bits).
      let bits = Int(head[2]) << 8 | Int(head[3])
      guard bits >> 11 & 3 == 3 else { throw .encodingFailed("the AVIF encoder sent no still picture") }
      self.data = data
      profile = bits >> 13
      level = bits >> 6 & 31
      self.isMonochrome = isMonochrome
      self.isDeep = isDeep
    }

    /// AV1 in ISO-BMFF §2.3.3.
    var configuration: [UInt8] {
      let isSubsampled = isMonochrome || profile == 0
      // high_bitdepth without twelve_bit: 10 bits.
      return [
        0x81, UInt8(profile << 5 | level),
        (isDeep ? 0x40 : 0) | (isMonochrome ? 0x10 : 0) | (isSubsampled ? 0x0C : 0), 0,
      ]
    }
  }

  /// - Parameters:
  ///   - parts: the coded colours, and the coded alpha if there is any.
  ///   - profile: an ICC profile; `nil` for the colours of ``WorkerEncoding/codePoints``.
  package init(_ parts: [[UInt8]], _ encoding: WorkerEncoding, profile: [UInt8]?) throws(CodecError) {
    guard let first = parts.first else { throw .encodingFailed("the AVIF encoder sent nothing") }
    self.encoding = encoding
    self.profile = profile
    let isDeep = encoding.isHDR
    colors = try Item(first, isMonochrome: encoding.channels == 1, isDeep: isDeep)
    alpha = parts.count > 1 ? try Item(parts[1], isMonochrome: true, isDeep: isDeep) : nil
  }

  package var bytes: [UInt8] {
    let brand = colors.profile == 0 ? "MA1B" : "MA1A"
    let type = box("ftyp", ascii("avif") + number(0, 4) + ascii("avifmif1miaf") + ascii(brand))
    let dataBytes = colors.data.count + (alpha?.data.count ?? 0)
    // Its length does not depend on the offsets.
    let start = type.count + meta(dataStart: 0).count + 8
    var file = type + meta(dataStart: start)
    file.reserveCapacity(start + dataBytes)
    file += number(dataBytes + 8, 4) + ascii("mdat")
    file += colors.data
    if let alpha { file += alpha.data }
    return file
  }

  private func meta(dataStart: Int) -> [UInt8] {
    let items = [(1, colors, dataStart)] + (alpha.map { [(2, $0, dataStart + colors.data.count)] } ?? [])
    // ISO/IEC 14496-12 §8.11: offsets and lengths of four bytes, one extent each.
    var locations = number(0x4400, 2) + number(items.count, 2)
    var entries = number(items.count, 2)
    for (id, item, offset) in items {
      locations += number(id, 2) + number(0, 2) + number(1, 2) + number(offset, 4) + number(item.data.count, 4)
      entries += fullBox("infe", version: 2, number(id, 2) + number(0, 2) + ascii("av01") + [0])
    }
    let references = alpha == nil ? [] : fullBox("iref", box("auxl", number(2, 2) + number(1, 2) + number(1, 2)))
    return fullBox(
      "meta",
      fullBox("hdlr", number(0, 4) + ascii("pict") + number(0, 12) + [0]) + fullBox("pitm", number(1, 2))
        + fullBox("iloc", locations) + fullBox("iinf", entries) + references + properties)
  }

  private var properties: [UInt8] {
    let (size, codes) = (encoding.size, encoding.codePoints)
    var properties = [
      fullBox("ispe", number(size.width, 4) + number(size.height, 4)), depths(colors.isMonochrome ? 1 : 3),
      box("av1C", colors.configuration),
      box(
        "colr",
        ascii("nclx") + number(codes.primaries, 2) + number(codes.transfer, 2) + number(codes.matrix, 2) + [0x80]),
    ]
    if let profile { properties.append(box("colr", ascii("prof") + profile)) }
    // ISO/IEC 14496-12 §12.1.6.
    if let light = encoding.contentLight {
      properties.append(box("clli", number(light.maximum, 2) + number(light.average, 2)))
    }
    // The decoder's configuration is essential: bit 7.
    var associations = number(1, 2) + [UInt8(properties.count)]
    associations += (1...properties.count).map { UInt8($0 == 3 ? 0x80 | $0 : $0) }
    if let alpha {
      let first = properties.count + 1
      properties += [
        depths(1), box("av1C", alpha.configuration), fullBox("auxC", ascii(Self.alphaType) + [0]),
      ]
      associations += number(2, 2) + [4, 1, UInt8(first), UInt8(0x80 | first + 1), UInt8(first + 2)]
    }
    let count = number(alpha == nil ? 1 : 2, 4)
    return box("iprp", box("ipco", properties.flatMap(\.self)) + fullBox("ipma", count + associations))
  }

  /// Bits of each channel.
  private func depths(_ channels: Int) -> [UInt8] {
    fullBox("pixi", [UInt8(channels)] + Array(repeating: UInt8(encoding.codedBits), count: channels))
  }

  private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    number(content.count + 8, 4) + ascii(type) + content
  }

  private func fullBox(_ type: String, version: UInt8 = 0, _ content: [UInt8]) -> [UInt8] {
    box(type, [version, 0, 0, 0] + content)
  }

  private func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// Most significant byte first.
  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
  }
}
