import Foundation

/// Pictures in RGB, by encoders' lossless modes: 32 x 16, full range. The planes are green, blue and red, which is the
/// order of H.273's matrix 0.
package enum RGBSamples {
  package static let size = (width: 32, height: 16)

  /// Plane 0 is green, 1 is blue and 2 is red, in steps of 8 rows. With 10 bits, 2 bytes a sample in native order.
  package static func plane(_ plane: Int, bitDepth: Int = 8) -> [UInt8] {
    (0..<size.height).flatMap { y in
      (0..<size.width).flatMap { _ -> [UInt8] in
        let value = 40 + y / 8 * 24 + plane * 11
        if bitDepth == 8 { return [UInt8(value)] }
        let wide = value << 2 | plane
        return [UInt8(wide & 255), UInt8(wide >> 8)]
      }
    }
  }

  package static var pixels: Pixels {
    var pixels = Pixels(width: size.width, height: size.height, channels: 3)
    for (channel, plane) in [2, 0, 1].enumerated() {
      for (pixel, sample) in self.plane(plane).enumerated() { pixels.bytes[pixel * 3 + channel] = sample }
    }
    return pixels
  }

  /// HEVC: parameter sets, and a NAL unit after its length in four bytes.
  package static func hevc(bitDepth: Int = 8) -> (sets: [[UInt8]], tile: [UInt8]) {
    bitDepth == 8 ? hevc8 : hevc10
  }

  private static let hevc8 = (
    sets: [
      bytes("QAEMAf//BAgAAAMAnggAAAMAAP+ZigJA"),
      bytes("QgEBBAgAAAMAnggAAAMAAP+QCEIsszFVbbXNwICAAQAAAwABAAADABkI"),
      bytes("RAHBcDBjkSA="),
    ],
    tile: unit(
      """
      KAGvBbh0GFIaj//6zjWDtIQLbGsaxrGtMEwTBMEwTBMCS//8tR2v//6etTd0fpT5XleV5XochyHIchyHIcY0/8JmB//+cHMlGr1w\
      bBsGwbCbJsmybJsmybI36X+WQYA/j/F7bbbbbb7777777i17PtiALLE1yskkkkkqSSSSSSOAYjP0AeSpkU0kkkkk0EEEEED2wAAL\
      sCteRlRZsD0O3ajlAAAO8tPCrXwMTolf0ACQADqQV/NQOCfJR32vogArYs//9I8qT1a82uaK2AACaCaSkjAFqzJMqUJ2ABLS97LH\
      f8OlRLGKuyAAEXiBf3E1UtxQfJ7RQADOsidawMYyEbEG5Gfg
      """)
  )

  private static let hevc10 = (
    sets: [
      bytes("QAEMAf//BAgAAAMAnAgAAAMAAP+ZigJA"),
      bytes("QgEBBAgAAAMAnAgAAAMAAP+QCEImyzMVVttc3AgIABAAAAMAEAAAAwGQgA=="),
      bytes("RAHBcDBjkSA="),
    ],
    tile: unit(
      """
      KAGvBbgvBcSz///Lf/lr/lb/J38ffx9/H38ffx//H/8f/x//H/8f/x//H5UP//kTtf//9TcOpiOoytOnUitSK1IrUitSQxJDEkMS\
      QxJDEkMSQxIwJ/+yDn///AP/gD/fP7p+yfsn7J+yfsv7L+y/sv7L+y/sv7LeBMxWsrhsG1uEAz66/W91VaQpSlKUpSl+X5fl+X5f\
      l+U6b+1MQBZ3Ne4+timEMYxjGMYy9L0vS9L0vS9Gu/zQUAedBXn7pvooiEIQhCEIvC8LwvC8LwvBmBGyB/mf/A==
      """)
  )

  /// AVC: parameter sets, and a key frame.
  package static let avcParameters = (
    sequence: bytes("Z/QACpHJhEum4EBACAAAAwAIAAADAZB4kTCM"), picture: bytes("aOhDAa8s")
  )
  package static let avcFrame = unit(
    """
    ZYiCV+z9z66UO1TnB02jXGherTEJuGgYzdlIxp4bIhfgYN2KRKzAC3b5jqyNQjVajvop1JMc+OVwtqRnvHp9AUNWgV6w+KrUREIm\
    e/9f+Y6sjUI1Wo76KdNqHB2UO1LDhBDua45/Xcf7rIM3xfZHgUfxaPmOrI1CNVqPB+93M//9
    """)

  /// A frame of VP9 of the same size with 4:4:0, which no reader of this project shows.
  package static let vp9FrameOfHalfHeight = bytes("okmDQgQAPgAewAcEg4MAAAAEAAAiPlwABOAA")

  /// A HEIC of the tile of ``hevc(bitDepth:)``.
  package static var heic: [UInt8] {
    let (sets, tile) = hevc8
    return CodedHEIFFile([
      CodedHEIFFile.Item(
        1, "hvc1", tile,
        properties: [
          CodedHEIFFile.hvcC(chroma: 3, sets: sets), CodedHEIFFile.ispe(size.width, size.height),
          CodedHEIFFile.nclx(1, 13, 0, isFullRange: true),
        ])
    ]).bytes
  }

  /// A movie of ``avcFrame``.
  package static var movie: [UInt8] {
    let entry = CodedMovieFile.entry(
      "avc1", size.width, size.height, CodedMovieFile.avcC(avcParameters.sequence, avcParameters.picture),
      CodedMovieFile.colors((1, 13, 0), isFullRange: true))
    return CodedMovieFile(entry, [CodedMovieFile.Frame(avcFrame)]) {
      ($0.width, $0.height) = (size.width, size.height)
    }.bytes
  }

  /// A NAL unit after its length in four bytes.
  private static func unit(_ text: String) -> [UInt8] {
    let unit = bytes(text)
    return Boxes.number(unit.count, 4) + unit
  }

  private static func bytes(_ text: String) -> [UInt8] {
    Array(Data(base64Encoded: text.filter { !$0.isWhitespace }) ?? Data())
  }
}
