// Reads an AVC sequence parameter set (ISO/IEC 14496-10 §7.3.2.1.1): the size of its pictures, their samples, and their
// colours.

import PhotoModel

struct AVCSequenceParameters {
  /// The size of the pictures that a decoder gives: those in the frame's cropping.
  let size: PixelSize
  let chroma: ChromaSampling
  /// Bits of a sample.
  let bitDepth: Int
  /// The colours of the usability information (§E.1.1); `nil` if there are none.
  let colors: CodePoints?

  /// Profiles whose sets describe their samples; those of others are 4:2:0 with 8 bits.
  private static let highProfiles: Set<Int> = [44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244]

  /// - Parameter unit: a NAL unit.
  /// - Throws: ``CodecError`` if it is damaged, or describes pictures that no decoder supports.
  init(_ unit: ArraySlice<UInt8>) throws(CodecError) {
    var bits = HeaderBits(nalUnit: unit)
    bits.skip(8)
    let profile = bits.number(8)
    bits.skip(16)
    _ = bits.golomb()
    var (chroma, bitDepth) = (ChromaSampling.half, 8)
    if Self.highProfiles.contains(profile) {
      let format = bits.golomb()
      guard let sampling = ChromaSampling(rawValue: format) else {
        throw .malformed("an AVC video with an unknown subsampling", offset: nil)
      }
      // Three planes that are each coded as luma.
      if format == 3, bits.flag() { throw .unsupported("an AVC video with separate planes") }
      let (luma, other) = (bits.golomb(), bits.golomb())
      guard luma == other || sampling == .none, luma <= 6 else {
        throw .unsupported("an AVC video whose luma and chroma differ in depth")
      }
      (chroma, bitDepth) = (sampling, 8 + luma)
      bits.skip(1)
      if bits.flag() { Self.skipScalingLists(&bits, count: format == 3 ? 12 : 8) }
    }
    Self.skipOrder(&bits)
    _ = bits.golomb()
    bits.skip(1)
    let (columns, rows) = (bits.golomb() + 1, bits.golomb() + 1)
    let isProgressive = bits.flag()
    if !isProgressive { bits.skip(1) }
    bits.skip(1)
    var (width, height) = (columns * 16, rows * (isProgressive ? 16 : 32))
    if bits.flag() {
      // Table 6-1: in samples of chroma, and in rows of both fields.
      let (across, down) = (chroma.horizontal, chroma.vertical * (isProgressive ? 1 : 2))
      width -= (bits.golomb() + bits.golomb()) * across
      height -= (bits.golomb() + bits.golomb()) * down
    }
    guard bits.isValid, width > 0, height > 0 else {
      throw .malformed("an AVC video with a damaged sequence parameter set", offset: nil)
    }
    size = PixelSize(width: width, height: height)
    self.chroma = chroma
    self.bitDepth = bitDepth
    colors = bits.flag() ? bits.usabilityColors() : nil
  }

  /// §7.3.2.1.1.1.
  private static func skipScalingLists(_ bits: inout HeaderBits, count: Int) {
    for list in 0..<count where bits.flag() {
      var (last, next) = (8, 8)
      for _ in 0..<(list < 6 ? 16 : 64) {
        if next != 0 { next = (last + bits.signedGolomb() + 256) & 255 }
        last = next == 0 ? last : next
      }
    }
  }

  /// The frame numbers and the order of output.
  private static func skipOrder(_ bits: inout HeaderBits) {
    _ = bits.golomb()
    switch bits.golomb() {
    case 0: _ = bits.golomb()
    case 1:
      bits.skip(1)
      for _ in 0..<2 { _ = bits.golomb() }
      for _ in 0..<min(255, bits.golomb()) { _ = bits.golomb() }
    default: break
    }
  }
}
