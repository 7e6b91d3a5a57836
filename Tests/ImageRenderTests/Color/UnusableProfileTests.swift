import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Profiles that are unusable, in several parts, or too large.
extension ColorTests {
  struct BadProfile: CustomTestStringConvertible {
    let testDescription: String
    let profile: [UInt8]
    var isGray = false
  }

  static func changed(_ profile: [UInt8], at offset: Int, _ bytes: [UInt8]) -> [UInt8] {
    var profile = profile
    profile.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    return profile
  }

  static let badProfiles = [
    BadProfile(testDescription: "text", profile: Array("this is no profile at all, however long one reads it".utf8)),
    BadProfile(testDescription: "truncated in its tags", profile: Array(ICCFile.displayP3.prefix(200))),
    BadProfile(
      testDescription: "only a header", profile: Array(ICCFile.displayP3.prefix(128)) + [0, 0, 0, 0]),
    BadProfile(
      testDescription: "an impossible number of tags",
      profile: changed(ICCFile.displayP3, at: 128, [255, 255, 255, 255])),
    BadProfile(
      testDescription: "a device link", profile: changed(ICCFile.displayP3, at: 12, Array("link".utf8))),
    BadProfile(testDescription: "a gray profile in an RGB picture", profile: ICCFile.gray(exponent: 2.2)),
    BadProfile(testDescription: "a CMYK profile in an RGB picture", profile: ICCFile.cmyk),
    BadProfile(testDescription: "an RGB profile in a gray picture", profile: ICCFile.displayP3, isGray: true),
    BadProfile(testDescription: "a CMYK profile in a gray picture", profile: ICCFile.cmyk, isGray: true),
  ]

  @Test("an unusable profile is ignored and the reason logged", arguments: badProfiles, ColorSpace.allCases)
  func ignored(_ bad: BadProfile, _ colorSpace: ColorSpace) throws {
    let colors = bad.isGray ? Self.grays : Self.colors
    let plain = try render(Self.jpeg(colors, nil), Self.asked(160, colorSpace, .jpeg)).image
    let image = try render(Self.jpeg(colors, bad.profile), Self.asked(160, colorSpace, .jpeg)).image
    #expect(image.bytes == plain.bytes)
    #expect(image.profileWarning?.isEmpty == false && plain.profileWarning == nil)
    let rgb = Self.patches(bad.isGray ? Self.grays.map { [$0[0], $0[0], $0[0]] } : Self.colors)
    let compressed = PNGFile(bad.isGray ? .gray(depth: 8) : .rgb(depth: 8)) {
      $0.chunks = [PNGChunk("iCCP", Array("bad\0\0".utf8) + PNGChunks.stored(bad.profile))]
    }.encoded(rgb)
    let png = try render(compressed, Self.asked(160, colorSpace)).image
    #expect(png.profileWarning?.isEmpty == false && ICCFile.embedded(in: png.bytes) == nil)
  }

  @Test(
    "an iCCP chunk that is not a zlib stream is ignored",
    arguments: [[], Array("icc\0\0garbage".utf8), Array("icc".utf8)])
  func damagedChunk(_ content: [UInt8]) throws {
    let file = PNGFile(.rgb(depth: 8)) { $0.chunks = [PNGChunk("iCCP", content)] }.encoded(Self.patches(Self.colors))
    let (image, pixels, _) = try render(file, Self.asked(320, .srgb))
    #expect(image.profileWarning != nil)
    #expect(Self.middles(pixels, Self.colors.count) == Self.colors)
  }

  @Test("the parts of a profile are joined in the order of their numbers")
  func parts() throws {
    let profile = ICCFile.padded(ICCFile.displayP3, by: 2000)
    let thirds = [profile[..<900], profile[900..<1700], profile[1700...]]
    func file(_ parts: [JPEGSegment]) -> [UInt8] {
      JPEGFile {
        $0.leadingSegments = parts
        $0.exif = EXIFBlock { $0.make = "x" }
      }.encoded(Self.patches(Self.colors))
    }
    let three = (0..<3).map { JPEGSegment.profilePart(thirds[$0], $0 + 1, of: 3) }
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
      let image = try render(file(order.map { three[$0] }), Self.asked(160, .preserve, .jpeg)).image
      #expect(ICCFile.embedded(in: image.bytes) == profile)
    }
    for (name, parts) in [
      ("one missing", [three[0], three[2]]), ("one twice", three + [three[1]]),
      ("two counts", [three[0], three[1], JPEGSegment.profilePart(thirds[2], 3, of: 4)]),
      ("a number beyond the count", [three[0], three[1], JPEGSegment.profilePart(thirds[2], 4, of: 3)]),
      ("the number 0", [JPEGSegment.profilePart(profile, 0, of: 0)]),
    ] {
      let image = try render(file(parts), Self.asked(160, .preserve, .jpeg)).image
      #expect(ICCFile.embedded(in: image.bytes) == nil && image.profileWarning != nil, "\(name)")
    }
  }

  @Test("a profile over the limit is refused with the limit's name, before it is inflated")
  func limit() throws {
    let profile = ICCFile.padded(ICCFile.displayP3, by: 60_000)
    let limits = CodecLimits(profileBytes: 50_000)
    let jpeg = Self.jpeg(Self.colors, profile)
    let png = PNGFile(.rgb(depth: 8)) { $0.profile = profile }.encoded(Self.patches(Self.colors))
    // A profile that does not state its length is inflated up to one byte over the limit.
    let silent = PNGFile(.rgb(depth: 8)) {
      $0.profile = nil
      $0.chunks = [PNGChunk("iCCP", Array("bad\0\0".utf8) + PNGChunks.deflated(zeros: 60_000))]
    }.encoded(Self.patches(Self.colors))
    for (file, found) in [(jpeg, profile.count), (png, profile.count), (silent, 50_001)] {
      let source = MemoryByteSource(file)
      let header = try ImageHeader.read(from: source, limits: limits)
      #expect(throws: CodecError.limitExceeded("the size of the colour profile", limit: 50_000, found: found)) {
        _ = try Renderer(
          RenderPlanner().plan(header, request(50, 50)), source: source, limits: limits, stop: StopFlag())
      }
    }
  }

  @Test("compressed bytes after the end of a profile are not read and need no memory")
  func behindTheEnd() throws {
    let longer = ICCFile.displayP3 + [UInt8](repeating: 7, count: 40_000)
    let file = PNGFile(.rgb(depth: 8)) {
      $0.chunks = [PNGChunk("iCCP", Array("long\0\0".utf8) + PNGChunks.stored(longer))]
    }.encoded(Self.patches(Self.colors))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.profileBytes == ICCFile.displayP3.count)
    let image = try render(file, Self.asked(160, .preserve)).image
    #expect(ICCFile.embedded(in: image.bytes) == ICCFile.displayP3 && image.profileWarning == nil)
  }
}
