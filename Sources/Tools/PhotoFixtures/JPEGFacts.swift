import CPhotoFixtures

/// The properties that libjpeg, called directly, reports for a JPEG that it decodes: the reference for photod's own
/// header parser.
package struct JPEGFacts: Sendable, Equatable {
  package let width: Int
  package let height: Int
  package let components: Int
  /// Whether the components are luma and two of chroma.
  package let isYCbCr: Bool
  package let isProgressive: Bool
  /// Whether the file has several scans, as every progressive one does.
  package let hasMultipleScans: Bool
  /// The number of libjpeg's warnings.
  package let warningCount: Int

  /// Decodes a complete file. `nil` if libjpeg refuses the file, its components are not colours, or it has more pixels
  /// than `maximumPixels`.
  package init?(_ file: [UInt8], maximumPixels: Int = 1 << 20) {
    var facts = fixture_jpeg_facts()
    guard fixture_jpeg_decodes(file, file.count, UInt64(maximumPixels), &facts) else { return nil }
    width = Int(facts.width)
    height = Int(facts.height)
    components = Int(facts.components)
    isYCbCr = facts.ycbcr
    isProgressive = facts.progressive
    hasMultipleScans = facts.multiple_scans
    warningCount = facts.warnings
  }
}
