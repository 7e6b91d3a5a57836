import Foundation
import PhotoModel

/// Small coded pictures, made for these tests from the formulas below. HEVC by an encoder's lossless mode.
enum CodedPictures {
  /// 40 x 24, 4:2:0, 8 bits: VPS, SPS, PPS and one NAL unit for each of two tiles.
  static let sets420 = [
    bytes("QAEMAf//BAgAAAMAn6gAAAMAAP+6AkA="),
    bytes("QgEBBAgAAAMAn6gAAAMAAP+gUhlluqvK4BAAAD6AAAA+gIA="),
    bytes("RAHBcYkS"),
  ]
  static let tiles420 = [
    bytes(
      """
      KAGvBbgkmABnf//rONYO0hAtsaxrGsa0wTBMEwTBMEwTe8V//8idr//+nrU3dH6U+V5XleV6HIchyHIchyHGNP/2Qc///d/ufsfQ\
      8DwPA8DwfB8HwfB8HwfBc7ZJExilAK7L2BNtttttzTTTTTTOgAAGrK+ruwZmarRiFtdQCTQAAbMLsermM3CypVyEzgAGXfHl4Zhk\
      DnzhsrDrCTS3//0ThR+nO6QHtxEECGAAEB4LTBrq4hNcR7L3IACCak+wHjPou+yl30TgAAAcLLP+MvZxy9vwol/gAVh+QZdBSlNy\
      0bYnGAAAAwBhpB0Ui8lq1atW3r169evXqFAAuW5BugLnjQLu2EjjlgAAVmesQ8kkkkkvnnnnnneIADdeY1qEkkkkmV111110UgAu\
      Qos/CCBYCQtZrVlJeY0IADxVojgpJJJJLEkkkkki6gA6kFfzUDgnyUd9r5rd/tTEAWWJrlZJJJJJUkkkkkkbd/mgoA8lTIppJJJJ\
      JoIIIIIHtxsABfuErpHO4Rs3gTV7fADB5oQBBUw2SKwp0TylIADzHR+o6g2v61xoaFUAJ35iCKeTlXPWZW5amAAAycZK/SnmDE45\
      AKF+rW/fPGdD2VWUWEmyIADzUwhsgAAAAwAfHHHHHG9gAGisiKHXXRbQhL/vMPurwA==
      """),
    bytes(
      """
      KAGvBbgkmABnf//dXeS8wDSenp6eqvr6+vr6+vwrxX//yJ2v//1m6teVkSpUqVMFChQoUKEjz/9kHP//s/X8/e+++/BgwYMGDBgc\
      7ZJExilAK7L2BNtttttzTTTTTTOgAAGrK+ruwZmarRiFtdQCTQAAbMLsermM3CypVyEzgAGXfHl4ZhkDnzhsrDrCTS3//0ThR+nO\
      6QHtxEECGAAEB4LTBrq4hNcR7L3IACCak+wHjPou+yl30TgAAAcLLP+MvZxy9vwol/gAVh+QZdBSlNy0bYnGAAADABhpB0Ui8lq1\
      atW3r169evXqFAAuW5BugLnjQLu2EjjlgAAVmesQ8kkkkkvnnnnnneIADdeY1qEkkkkmV111110UgAuQos/CCBYCQtZrVlJeY0IA\
      DxVojgpJJJJLEkkkkki6gA6kFfzUDgnyUd9r5rd/tTEAWWJrlZJJJJJUkkkkkkbd/mgoA8lTIppJJJJJoIIIIIHtxsABfuErpHO4\
      Rs3gTV7fADB5oQBBUw2SKwp0TylIADzHR+o6g2v61xoaFUAJ35iCKeTlXPWZW5amAAAycZK/SnmDE45AKF+rW/fPGdD2VWUWEmyI\
      ADzUwhsgAAADAAfHHHHHG9gAGisiKHXXRbQhL/vMPurw
      """),
  ]
  /// 32 x 16, 4:2:2, 10 bits.
  static let sets422 = [
    bytes("QAEMAf//BAgAAAMAnTgAAAMAAP+6AkA="),
    bytes("QgEBBAgAAAMAnTgAAAMAAP+wQhE2W6q8rgEAAAMD6AAAAwPoCA=="),
    bytes("RAHBcYkS"),
  ]
  static let tiles422 = [
    bytes(
      """
      KAGvBbgkmNnxrf//68y9eA1ceSyyaZ5pnmmeaZ5pz6nPqc+pz6nPqc+pz6nP7xX//yJ2v//+puHUxHUZWnTqRWpFakVqRWpIYkhi\
      SGJIYkhiSGJIYkYE//ZBz///gH/wB/vn90/ZP2T9k/ZP2X9l/Zf2X9l/Zf2X9lc7bRFZoZXgFfdn7qO3zZJSlKUpSlP0/T9P0/T9\
      P0/syT6iaAG3VB6kylwPbnOc5znOjyPI8jyPI8jx2QXNBQB50Fefum+iiIQhCEIQi8LwvC8LwvC8Id52FQp8
      """)
  ]

  /// AV1, by an encoder's lossless mode: tiles of the planes of `tiles420` and `tiles422`, one of 32 x 16 with 4:4:4 and 10
  /// bits, and one of 40 x 24 with only luma, which has the tile number 2.
  static let av1Tiles420 = [
    bytes("CgkYFSe/ZAQ0GBAyGUQAAOWYSX+qNUCRBpr4YdIHhPODvstqf2k="),
    bytes("CgkYFSe/ZAQ0GBAyGUQAAOWYfyG6UpGGKZDuHdIHhPODy23uf2k="),
  ]
  static let av1Tile422 = bytes("CglYEP/9yAhoMIAyE0QAAMACOQ4+H98/5PYdpIdfCUA=")
  static let av1Tile444 = bytes("Cgg4EP/94CGgwjITRAAA54hl0XoXBvBXHgKGM2sl8w==")
  static let av1Gray = bytes("CgkYFSe/bAQ0GIAyEkQAAP5rjfIX82W/hOYSc+a4hw==")

  /// AVC, by an encoder's lossless mode: the content of `avcC`, and key frames: black, and the tiles of `tiles420`.
  static let avcConfiguration =
    [1, 244, 0, 10, 0xFF, 0xE1, 0, 19] + bytes("Z/QQCq65ryywgAAAAwCAAAAKAg==") + [1, 0, 5] + bytes("aO4Bryw=")
  static let avcFrames = [
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

  /// The luma of the first tile as AVC with only luma: the content of `avcC`, and a key frame.
  static let avcGrayConfiguration =
    [1, 244, 0, 10, 0xFF, 0xE1, 0, 21] + bytes("Z/QQCvrmvExM2QAAAwABAAADADIE") + [1, 0, 5] + bytes("aO4Bryw=")
  static let avcGrayFrame = frame(
    """
    ZYiEr+z9z66UO1TnB02jXGherTEJuGgYzdlIxp4bIhfgYN2KRKzAC3b5jqyNQjVajwfvdygSspe2+f3HW4FFtpeTdUI/SxCnoStYNviN/f58meUG\
    PLQCHUEnGN8C+Q==
    """)

  /// MPEG-4, 176 x 144, 4:2:0: the configuration, and a frame whose luma is 126.
  static let mpeg4Configuration = bytes("AAABsAEAAAG1iRMAAAEAAAABIADEjYgAfQWEEhRDAAABskxhdmM1OS4zNy4xMDA=")
  static let mpeg4Frame = bytes(
    """
    AAABswAQBwAAAbYQx+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv4\
    22/jbb+Ntv422/jbb+Ntv422/jbb9/AACh+jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv42\
    2/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/cAAML6Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv\
    422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb+Ntv422/jbb9w==
    """)

  /// H.263 (§5.1, §5.3), 176 x 144: an intra picture whose luma is 96. Each of its blocks has only its mean.
  static let h263Frame: [UInt8] = {
    let header = "00000000000000001000000000000010000010000001111100"
    let macroblock = "10011" + String(repeating: "01100000", count: 4) + String(repeating: "11111111", count: 2)
    let text = header + String(repeating: macroblock, count: 99)
    let bits = text.utf8.map { $0 & 1 }
    return stride(from: 0, to: bits.count, by: 8).map { start in
      var byte: UInt8 = 0
      for i in start..<start + 8 { byte = byte << 1 | (i < bits.count ? bits[i] : 0) }
      return byte
    }
  }()

  private static func frame(_ text: String) -> [UInt8] {
    let unit = bytes(text)
    return withUnsafeBytes(of: UInt32(unit.count).bigEndian) { Array($0) } + unit
  }

  /// A plane of these tiles: steps of 8 rows and 32 columns. With 10 bits, 2 bytes a sample in native order.
  static func plane(_ width: Int, _ height: Int, tile: Int, plane: Int, bitDepth: Int) -> [UInt8] {
    (0..<height).flatMap { y in
      (0..<width).flatMap { x in
        let value = (40 + y / 8 * 24 + x / 32 * 40 + (tile * 3 + plane) * 11) & 255
        if bitDepth == 8 { return [UInt8(value)] }
        let wide = value << 2 | plane
        return [UInt8(wide & 255), UInt8(wide >> 8)]
      }
    }
  }

  /// 20 x 15 pixels with alpha, as a file with the chunk VP8L, and as one with VP8X, ALPH and VP8.
  static let losslessWebP = bytes("UklGRjIAAABXRUJQVlA4TCUAAAAvE4ADEM1lRP9jMfyFGPD+xzBASECY4P9iURyGCZj9CQC8VFsAAA==")
  static let lossyWebP = bytes(
    """
    UklGRqwAAABXRUJQVlA4WAoAAAAQAAAAEwAADgAAQUxQSBgAAAABuYzof0Bp2wZM/3950sLCiAmYgKYl3AJWUDggbgAAANAEAJ0B\
    KhQADwA+MRaJQqIhIRgEACADBLYATplCOBvAPlAfoAsAAJoauAsMShqAAP7/gXpuLjOj9M6qBWqKlJuhbT1e7/DSWXpnl5uDPv8E\
    LL9OLansFiBsj+V43Ea0z/bcpkAyHu/K3i+hgAAA
    """)

  /// RGBA.
  static let webPPixels: [UInt8] = {
    var pixels: [UInt8] = []
    for y in 0..<15 {
      for x in 0..<20 { for value in [x * 12, y * 16, (x + y) * 7, 255 - x * 5] { pixels.append(UInt8(value % 256)) } }
    }
    return pixels
  }()

  /// The range of a chunk's data in a WebP file.
  static func chunk(_ type: String, in file: [UInt8]) -> [ByteRange] {
    var position = 12
    while position + 8 <= file.count {
      let size = (0..<4).reduce(0) { $0 | Int(file[position + 4 + $1]) << (8 * $1) }
      if Array(file[position..<position + 4]) == Array(type.utf8) {
        return [ByteRange(offset: Int64(position + 8), length: size)]
      }
      position += 8 + (size + 1) / 2 * 2
    }
    return []
  }

  private static func bytes(_ base64: String) -> [UInt8] { Data(base64Encoded: base64).map(Array.init) ?? [] }
}
