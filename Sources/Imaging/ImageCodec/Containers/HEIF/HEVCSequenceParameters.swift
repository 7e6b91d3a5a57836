// Reads an HEVC sequence parameter set (ISO/IEC 23008-2 §7.3.2.2) up to the description of its colours. Phones describe
// the range and the matrix of their samples only there.

import PhotoModel

struct HEVCSequenceParameters {
  /// The size of the pictures that a decoder gives, within the conformance window; `nil` if it can't be read.
  private(set) var size: PixelSize?
  /// The colours of the usability information (§E.2.1); `nil` if there are none, or they can't be read.
  private(set) var colors: CodePoints?

  /// - Parameter unit: a NAL unit.
  init(_ unit: [UInt8]) {
    var bits = HeaderBits(nalUnit: unit)
    bits.skip(16 + 4)
    let subLayers = bits.number(3)
    bits.skip(1)
    Self.skipProfile(&bits, subLayers)
    _ = bits.golomb()
    let chroma = bits.golomb()
    if chroma == 3 { bits.skip(1) }
    var (width, height) = (bits.golomb(), bits.golomb())
    if bits.flag() {
      // The window's distances from the edges count in samples of chroma (§6.2 table 6-1).
      let (across, down) = (chroma == 1 || chroma == 2 ? 2 : 1, chroma == 1 ? 2 : 1)
      width -= (bits.golomb() + bits.golomb()) * across
      height -= (bits.golomb() + bits.golomb()) * down
    }
    if bits.isValid, width > 0, height > 0 { size = PixelSize(width: width, height: height) }
    colors = Self.colors(&bits, subLayers)
  }

  /// - Parameter bits: after the conformance window.
  private static func colors(_ bits: inout HeaderBits, _ subLayers: Int) -> CodePoints? {
    for _ in 0..<2 { _ = bits.golomb() }
    let countBits = bits.golomb() + 4
    let hasAllLayers = bits.flag()
    for _ in (hasAllLayers ? 0 : subLayers)...subLayers { for _ in 0..<3 { _ = bits.golomb() } }
    for _ in 0..<6 { _ = bits.golomb() }
    if bits.flag(), bits.flag() { skipScalingLists(&bits) }
    bits.skip(2)
    if bits.flag() {
      bits.skip(8)
      for _ in 0..<2 { _ = bits.golomb() }
      bits.skip(1)
    }
    guard skipReferences(&bits, countBits) else { return nil }
    bits.skip(2)
    // vui_parameters_present_flag.
    return bits.flag() ? bits.usabilityColors() : nil
  }

  /// §7.3.3.
  private static func skipProfile(_ bits: inout HeaderBits, _ subLayers: Int) {
    bits.skip(96)
    let layers = (0..<subLayers).map { _ in (bits.flag(), bits.flag()) }
    if subLayers > 0 { bits.skip(2 * (8 - subLayers)) }
    for (hasProfile, hasLevel) in layers {
      if hasProfile { bits.skip(88) }
      if hasLevel { bits.skip(8) }
    }
  }

  /// §7.3.4.
  private static func skipScalingLists(_ bits: inout HeaderBits) {
    for size in 0..<4 {
      for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        guard bits.flag() else {
          _ = bits.golomb()
          continue
        }
        for _ in 0..<min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0) { _ = bits.golomb() }
      }
    }
  }

  /// §7.3.7 and long-term references. Returns false after the end of the bits.
  private static func skipReferences(_ bits: inout HeaderBits, _ countBits: Int) -> Bool {
    // The pictures in the set before, from which a set may be predicted.
    var pictures = 0
    for i in 0..<min(64, bits.golomb()) {
      if i > 0, bits.flag() {
        bits.skip(1)
        _ = bits.golomb()
        var kept = 0
        for _ in 0...pictures where bits.flag() || bits.flag() { kept += 1 }
        pictures = min(32, kept)
      } else {
        pictures = min(32, bits.golomb() + bits.golomb())
        for _ in 0..<pictures {
          _ = bits.golomb()
          bits.skip(1)
        }
      }
    }
    guard bits.flag() else { return bits.isValid }
    for _ in 0..<min(32, bits.golomb()) { bits.skip(min(16, countBits) + 1) }
    return bits.isValid
  }
}
