import Foundation
import MediaMetadata
import Testing

@Suite("The metadata of gain maps")
struct GainMapMetadataTests {
  /// As libultrahdr 2.0.2 wrote it for a gain of up to 49.26, from the minimum version on.
  private static let libultrahdr: [UInt8] =
    [0, 0, 0, 0, 0x40] + [0, 0, 0, 0, 0, 0, 0, 1] + [0x00, 0x59, 0xF5, 0x41, 0x00, 0x10, 0x00, 0x00]
    + [0, 0, 0, 0, 0, 0, 0, 1] + [0x00, 0x59, 0xF5, 0x41, 0x00, 0x10, 0x00, 0x00] + [0, 0, 0, 1, 0, 0, 0, 1]
    + [0, 0, 0, 0, 0, 0, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 1]

  @Test("a block of libultrahdr's is read, and each of its beginnings is refused")
  func iso() throws {
    let metadata = try #require(GainMapMetadata(iso: Self.libultrahdr))
    let channel = try #require(metadata.channels.first)
    #expect(metadata.channels.count == 1 && metadata.usesBaseColorSpace && !metadata.baseIsHDR)
    #expect(abs(exp2(metadata.alternateHeadroom) - 49.26108) < 1e-4 && metadata.baseHeadroom == 0)
    #expect(channel.minimum == 0 && channel.maximum == metadata.alternateHeadroom && channel.gamma == 1)
    #expect(channel.baseOffset == 0 && channel.alternateOffset == 0)
    for count in 0..<Self.libultrahdr.count { #expect(GainMapMetadata(iso: Self.libultrahdr.prefix(count)) == nil) }
    #expect(GainMapMetadata(toneMap: [0] + Self.libultrahdr) == metadata)
    #expect(GainMapMetadata(toneMap: [1] + Self.libultrahdr) == nil)
    // A newer writer may append to the block.
    var newer = Self.libultrahdr + [1, 2, 3]
    newer[3] = 9
    #expect(GainMapMetadata(iso: newer) == metadata)
  }

  @Test("one denominator for all numbers is read")
  func commonDenominator() throws {
    func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    let block = [0, 0, 0, 0, 0x48] + [1000, 0, 2500, -500, 2500, 1200, 15, -15].flatMap(number)
    let metadata = try #require(GainMapMetadata(iso: block))
    #expect(
      metadata.channels == [
        GainMapMetadata.Channel(minimum: -0.5, maximum: 2.5, gamma: 1.2, baseOffset: 0.015, alternateOffset: -0.015)
      ])
  }

  static let refused: [(name: String, position: Int, bytes: [UInt8])] = [
    ("a newer minimum version", 1, [1]), ("a denominator of 0", 9, [0, 0, 0, 0]),
    ("a gamma of 0", 37, [0, 0, 0, 0]), ("a gain above the limit", 29, [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1]),
    ("a smallest gain above the largest", 21, [0, 0, 0, 9, 0, 0, 0, 1]),
    ("headrooms that are equal", 13, [0, 0, 0, 0, 0, 0, 0, 1]),
  ]

  @Test("numbers that no picture has are refused", arguments: refused)
  func refusals(_ name: String, _ position: Int, _ bytes: [UInt8]) {
    var block = Self.libultrahdr
    block.replaceSubrange(position..<position + bytes.count, with: bytes)
    #expect(GainMapMetadata(iso: block) == nil, "\(name)")
  }

  private static func packet(_ attributes: String, _ content: String = "") -> ArraySlice<UInt8> {
    Array(
      """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description xmlns:gm="http://ns.adobe.com/hdr-gain-map/1.0/" \(attributes)>\(content)</rdf:Description>
      </rdf:RDF></x:xmpmeta>
      """.utf8)[...]
  }

  @Test("XMP is read as attributes and as elements, with the defaults of the specification")
  func xmp() throws {
    let short = try #require(
      GainMapMetadata(xmp: Self.packet("gm:Version='1.0' gm:GainMapMax='3' gm:HDRCapacityMax='2.5'")))
    #expect(
      short.channels == [
        GainMapMetadata.Channel(minimum: 0, maximum: 3, gamma: 1, baseOffset: 1.0 / 64, alternateOffset: 1.0 / 64)
      ])
    #expect(short.baseHeadroom == 0 && short.alternateHeadroom == 2.5)
    let three = try #require(
      GainMapMetadata(
        xmp: Self.packet(
          "gm:Version='1.0' gm:HDRCapacityMin='0.5'",
          """
          <gm:GainMapMax><rdf:Seq><rdf:li>1</rdf:li><rdf:li>2</rdf:li><rdf:li>3</rdf:li></rdf:Seq></gm:GainMapMax>
          <gm:GainMapMin>-1</gm:GainMapMin><gm:HDRCapacityMax>3</gm:HDRCapacityMax><gm:Gamma>0.8</gm:Gamma>
          """)))
    #expect(three.channels.map(\.maximum) == [1, 2, 3] && three.channels.map(\.minimum) == [-1, -1, -1])
    #expect(three.channels.map(\.gamma) == [0.8, 0.8, 0.8] && three.baseHeadroom == 0.5)
    let backward = try #require(
      GainMapMetadata(
        xmp: Self.packet("gm:Version='1.0' gm:GainMapMax='3' gm:HDRCapacityMax='3' gm:BaseRenditionIsHDR='True'")))
    #expect(backward.baseIsHDR)
  }

  static let noMaps = [
    "", "gm:Version='1.0'", "gm:GainMapMax='3' gm:HDRCapacityMax='3'", "gm:Version='1.0' gm:GainMapMax='3'",
    "gm:Version='1.0' gm:GainMapMax='much' gm:HDRCapacityMax='3'",
    "gm:Version='1.0' gm:GainMapMax='nan' gm:HDRCapacityMax='3'",
    "gm:Version='1.0' gm:GainMapMax='3' gm:HDRCapacityMax='inf'",
  ]

  @Test("packets without gains, or with texts for numbers, are no metadata", arguments: noMaps)
  func noMap(_ attributes: String) { #expect(GainMapMetadata(xmp: Self.packet(attributes)) == nil) }

  @Test("both written forms are read back")
  func written() throws {
    let channels = [0.0, 1, 2].map {
      GainMapMetadata.Channel(
        minimum: -0.25 - $0, maximum: 2.123_456 + $0, gamma: 1.1, baseOffset: 1.0 / 64, alternateOffset: -1.0 / 128)
    }
    for channels in [channels, [channels[0]]] {
      let metadata = try #require(
        GainMapMetadata(channels: channels, baseHeadroom: 0, alternateHeadroom: 3.3))
      #expect(GainMapMetadata(xmp: Array(metadata.xmpPacket.utf8)[...]) == metadata)
      let read = try #require(GainMapMetadata(iso: metadata.isoBlock))
      #expect(read.channels.count == channels.count && abs(read.alternateHeadroom - 3.3) < 1e-6)
      for (own, other) in zip(read.channels, channels) {
        #expect(abs(own.maximum - other.maximum) < 1e-6 && own.alternateOffset == other.alternateOffset)
        #expect(abs(own.minimum - other.minimum) < 1e-6 && abs(own.gamma - other.gamma) < 1e-6)
      }
    }
  }

  /// Apple's four cases, with the results of its formula by hand.
  static let headrooms: [(headroom: (Int, Int), gain: (Int, Int), stops: Double)] = [
    ((9, 10), (5, 1000), 1.7), ((9, 10), (1, 1), 1.5), ((101, 100), (1, 100), 2.3), ((101, 100), (1, 1), 2.0),
    ((101, 100), (10, 1), 0),
  ]

  @Test("Apple's headroom follows from two numbers of its maker note", arguments: headrooms)
  func apple(_ headroom: (Int, Int), _ gain: (Int, Int), _ stops: Double) throws {
    func block(_ entries: [(Int, TIFFFixture.Value)]) -> [UInt8] {
      var fixture = TIFFFixture()
      fixture.first = [(0x010F, .ascii("Apple"))]
      fixture.exif = [(0x927C, .bytes(TIFFFixture.appleNote(entries)))]
      return fixture.bytes
    }
    let found = AppleGainMap.headroom(exif: block([(0x21, .rationals([headroom])), (0x30, .rationals([gain]))])[...])
    #expect(abs(log2(try #require(found)) - stops) < 1e-9)
    #expect(AppleGainMap.headroom(exif: block([(0x21, .rationals([headroom]))])[...]) == nil)
  }

  @Test("Apple's samples become those of a standard map", arguments: [1.5, 4.0, 8.0])
  func samples(_ headroom: Double) throws {
    let table = AppleGainMap.standardSamples(headroom: headroom)
    #expect(table.count == 256 && table[0] == 0 && table[255] == 255)
    let metadata = try #require(GainMapMetadata(linearHeadroom: headroom))
    for sample in 0...255 {
      // ITU-R BT.709, and the gain of each kind of map; a step of the standard map is this many stops.
      let value = Double(sample) / 255
      let light = value >= 4.5 * 0.018 ? pow((value + 0.099) / 1.099, 1 / 0.45) : value / 4.5
      let stops = metadata.channels[0].maximum * Double(table[sample]) / 255
      #expect(abs(log2(1 + (headroom - 1) * light) - stops) <= log2(headroom) / 255 / 2 + 1e-9)
    }
  }
}
