// Apple's gain maps, which are older than the standard: the map has no numbers of its own. How much it brightens
// follows from the maker note, by the formula of Apple's article "Applying Apple HDR effect to your photos".

#if canImport(Glibc)
  import Glibc
#endif

package enum AppleGainMap {
  /// The kind of the auxiliary picture, in HEIF and in XMP.
  package static let auxiliaryType = "urn:com:apple:photo:2020:aux:hdrgainmap"

  /// Tags of Apple's maker note.
  private static let headroomTag = 0x0021
  private static let gainTag = 0x0030

  /// The headroom that a map's own packet states, linear; 0 if it has none. `nil` unless the packet is that of a gain
  /// map.
  package static func headroom(xmp packet: ArraySlice<UInt8>) -> Double? {
    let properties = XMPDictionary(packet.prefix(XMPPacket.maximumBytes)).properties
    func text(_ key: String) -> String? {
      guard case .text(let text)? = properties[key] else { return nil }
      return text
    }
    guard text("apdi:AuxiliaryImageType") == auxiliaryType || properties["HDRGainMap:HDRGainMapVersion"] != nil else {
      return nil
    }
    return text("HDRGainMap:HDRGainMapHeadroom").flatMap { Double($0) } ?? 0
  }

  /// The headroom that the picture's maker note gives, linear, at least 1; `nil` without its two numbers.
  ///
  /// - Parameter block: the picture's EXIF block, from its TIFF header.
  package static func headroom(exif block: ArraySlice<UInt8>) -> Double? {
    guard let tiff = TIFFBlock(block), let first = tiff.firstDirectory, let pointer = tiff.long(0x8769, in: first),
      let exif = tiff.directory(at: pointer),
      let note = exif.entries.first(where: { $0.tag == 0x927C }).flatMap(tiff.content).flatMap(AppleMakerNote.init),
      let headroom = note.decimal(headroomTag), let gain = note.decimal(gainTag)
    else { return nil }
    let stops =
      headroom < 1
      ? (gain <= 0.01 ? -20 * gain + 1.8 : -0.101 * gain + 1.601)
      : (gain <= 0.01 ? -70 * gain + 3 : -0.303 * gain + 2.303)
    return exp2(max(0, min(stops, 16)))
  }

  /// The sample of a standard map, 0...255, for each sample of Apple's.
  ///
  /// - Parameter headroom: linear; above 1.
  package static func standardSamples(headroom: Double) -> [UInt8] {
    (0...255).map { sample in
      UInt8((standardSample(Double(sample) / 255, headroom: headroom) * 255).rounded())
    }
  }

  /// The sample of a standard map for one of Apple's, both 0...1.
  ///
  /// Apple's samples have the curve of Rec. 709, and brighten by `1 + (headroom - 1) * light`. The standard's samples
  /// are proportional to the logarithm of the gain.
  ///
  /// - Parameter headroom: linear; above 1.
  package static func standardSample(_ value: Double, headroom: Double) -> Double {
    // The inverse of ITU-R BT.709-6, item 1.2.
    let light = value < 0.081 ? value / 4.5 : pow((value + 0.099) / 1.099, 1 / 0.45)
    return min(1, max(0, log2(1 + (headroom - 1) * light) / log2(headroom)))
  }
}
