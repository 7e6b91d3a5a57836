import Foundation

/// Frames of videos that real decoders read: 40 x 24, 4:2:0, full range, BT.601.
package enum CodedMovieSamples {
  package static let size = (width: 40, height: 24)

  /// Three key frames of AVC, by an encoder's lossless mode: black, and the left and the right tile of
  /// ``CodedSamples/heic(_:damaged:)``.
  package static let avcFrames = [
    frame("ZYiEr+z/wlX/Vxovz0gbHD6HiDSt9riOE0Xz7mwm6UqgwwiDgEcvwbiX/ffWLzjLZ3p/qkp5"),
    frame(
      """
      ZYiCK+z9z68DXkimZRtlbywcnc9L0VIdlMt+4a4wHkBvN+jdXHrggW9e9cxRqEarUd9i7uRgYKtXjrt2nGHrqnlvevOjIodKliNQFW4ac4oN\
      nEppquIs47mRF47aBKLUgTeq7wXVR3iM/H7IiDeixP/fXu3ez6QAFWzoGwsTsW0OL95v7qGxNofPLtbEUQh/wDC6DVztsRF67pGqTftMbh19\
      VsHX9zo4+/2A7hwg0jri2VzKIylZNu9xnkqSPaYJTfclr/lFyPERxVWKY4ZlHVdCGDL6mxnZnbto8bNp+FVjDkTkfmEA8k4D3BN+5k9cQDUi\
      VBEiGxA7d5LQw/yX1ec23ifSOnetwZSpIaQKQEX3pDjFZTKvqR/uOtwKLbS8m6oR+liFPQlZUh14jf3+fJejviMZVA4eQ27w2x70q/cGeRBw\
      m75DQScdPenNWgCbwH1BJxjfAvg=
      """),
    frame(
      """
      ZYiEr+z9z68DXkg+cBl8ejWVoRymuu2jzWKQoxmXQ3viyXIevT71zFGoRqtR32H/nFoaINyf6E+NEvlvevF9wQtYTJ+AbYR7nolC1YNO+rVu\
      gemBKLNDt0aUP3nTxXUmciUwZDw+OEAWBQFWwWgRbzoGxjNdtye0BGu415RhMwdi6Cl8tXx/lp81DcQdyHwZpfGmJVXKLhuhWKOievB+1NaE\
      zB+dCUIs9wkCkFFrXoW3FtAteW0EURMoKc8a0wuVKm+ERM9ZDx9l+8tRtjrXERSepLg7evRAkEO/4HyJTbxoVAMdIubcA9jHG0r3pDjFZTKv\
      qR/uOtwKLbS8m6oR+liFPQlZUh14jf3+fJejviMZVA4eQ27w2x70q/cGeRBwm75DQScdPenNWgCbwH1BJxjfAvk=
      """),
  ]
  package static let avcParameters = (sequence: bytes("Z/QQCq65ryywgAAAAwCAAAAKAg=="), picture: bytes("aO4Bryw="))

  /// A frame of ProRes in 4:4:4, all of one colour: red 0x30, green 0x60, blue 0xC8 in the limited range of BT.601.
  package static let proRes = bytes(
    """
    AAAA6GljcGYAlAAAYXBsMAAoABjAAAICAkAAAwQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQFBAQEBAQEBQUEBAQEBAUFBgQEBAQFBQ\
    YHBAQEBAUGBwcEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBQQEBAQEBAUFBAQEBAQFBQYEBAQEBQUGBwQEBAQFBgcHQAAAAEwABDAA\
    DwAPAA8ADzAEAAMAAwh+Pw3CPx74/DAEAAMAAwh+MA3CMB74wDAEAAMAAwh+Pw3CPx74/DAEAAMAAwh+MA3CMB74wA==
    """)

  package static var colors: [UInt8] { CodedMovieFile.colors((1, 13, 6), isFullRange: true) }

  /// The entry of ``avcFrames``.
  package static var avcEntry: [UInt8] {
    CodedMovieFile.entry(
      "avc1", size.width, size.height, CodedMovieFile.avcC(avcParameters.sequence, avcParameters.picture), colors)
  }

  /// A second of each frame of ``avcFrames``.
  package static func avc(_ change: (inout CodedMovieFile) -> Void = { _ in }) -> CodedMovieFile {
    CodedMovieFile(avcEntry, avcFrames.map { CodedMovieFile.Frame($0) }, change)
  }

  /// The pixels of a tile of ``CodedSamples/heic(_:damaged:)``, by ITU-T H.273 §8.3.
  package static func pixels(tile: Int) -> Pixels {
    var pixels = Pixels(width: size.width, height: size.height, channels: 3)
    func sample(_ x: Int, _ y: Int, _ plane: Int) -> Double {
      Double((40 + y / 8 * 24 + x / 32 * 40 + (tile * 3 + plane) * 11) & 255)
    }
    for y in 0..<size.height {
      for x in 0..<size.width {
        let luma = sample(x, y, 0)
        let blue = CodedSamples.chroma(x, y, size) { sample($0, $1, 1) } - 128
        let red = CodedSamples.chroma(x, y, size) { sample($0, $1, 2) } - 128
        let rgb = [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
        for c in 0..<3 {
          pixels.bytes[(y * size.width + x) * 3 + c] = UInt8(min(255, max(0, rgb[c].rounded())))
        }
      }
    }
    return pixels
  }

  /// A NAL unit after its length in four bytes.
  private static func frame(_ text: String) -> [UInt8] {
    let unit = bytes(text)
    return Boxes.number(unit.count, 4) + unit
  }

  private static func bytes(_ text: String) -> [UInt8] {
    Array(Data(base64Encoded: text.filter { !$0.isWhitespace }) ?? Data())
  }
}
