// All metadata of a file by name, assembled from its blocks, for the metadata resource.

/// A file's metadata, with a section for each kind of block: `EXIF`, `TIFF`, `GPS`, `Interoperability`, `Thumbnail` and
/// `MakerApple` from EXIF, `IPTC`, `XMP`. Sections that the file lacks are absent.
package struct MetadataDictionary: Sendable, Hashable {
  package private(set) var sections: [String: [String: MetadataValue]] = [:]
  /// The missing or truncated parts, with the reason: one line each, starting with the section.
  package private(set) var incomplete: [String] = []

  /// A metadata block of a file.
  package struct Block: Sendable {
    let kind: MetadataBlock.Kind
    let bytes: ArraySlice<UInt8>

    package init(_ kind: MetadataBlock.Kind, _ bytes: ArraySlice<UInt8>) {
      self.kind = kind
      self.bytes = bytes
    }
  }

  /// Reads blocks. Never fails: damaged parts are omitted and listed in ``incomplete``. Takes time in proportion to the
  /// blocks' length.
  ///
  /// - Parameters:
  ///   - found: the blocks, in the order of the file. The first EXIF block and the first XMP packet count; pieces of
  ///     IPTC are joined.
  ///   - includesLocations: `false` omits everything that reveals a location, by ``LocationFilter``.
  ///   - includesNames: `false` omits the names of the people in the picture, by ``NameFilter``.
  package init(_ found: [Block], includesLocations: Bool, includesNames: Bool = true) {
    let blocks = found.compactMap { unpacked($0) }
    if let block = blocks.first(where: { $0.kind == .exif }) { read(exif: block.bytes, includesLocations) }
    let datasets = blocks.filter { $0.kind == .iptc }
    if !datasets.isEmpty { read(iptc: Array(datasets.map(\.bytes).joined())[...], includesLocations) }
    if let block = blocks.first(where: { $0.kind == .xmp }) {
      read(xmp: block.bytes, extended: blocks.filter { $0.kind == .extendedXMP }.map(\.bytes), includesLocations)
      if !includesNames { sections["XMP"] = sections["XMP"].map(NameFilter.withoutNames) }
    }
    sections = sections.filter { !$0.value.isEmpty }
  }

  /// Unwraps a block that contains another one.
  private mutating func unpacked(_ block: Block) -> Block? {
    switch block.kind {
    case .exif, .xmp, .extendedXMP, .iptc, .multiPicture: return block
    case .rawProfile: return RawProfile.block(block.bytes)
    case .deflatedXMP, .deflatedRawProfile:
      guard let bytes = RawProfile.inflated(block.bytes, limit: MetadataLimits.packetBytes) else {
        incomplete.append(
          "\(block.kind.rawValue): damaged, or more than \(MetadataLimits.packetBytes) bytes when decompressed")
        return nil
      }
      return block.kind == .deflatedXMP ? Block(.xmp, bytes[...]) : RawProfile.block(bytes[...])
    }
  }

  private mutating func read(exif block: ArraySlice<UInt8>, _ includesLocations: Bool) {
    let exif = EXIFDictionary(block)
    if let warnings = exif.warnings { incomplete.append("EXIF: \(warnings.first)") }
    if block.count > EXIFSummary.maximumBytes {
      incomplete.append("EXIF: only \(EXIFSummary.maximumBytes) bytes of the block's \(block.count) were read")
    }
    let sections = includesLocations ? exif.sections : LocationFilter.withoutLocations(exif: exif.sections)
    self.sections.merge(sections) { first, _ in first }
  }

  private mutating func read(iptc bytes: ArraySlice<UInt8>, _ includesLocations: Bool) {
    let iptc = IPTCDictionary(bytes)
    if let problem = iptc.problem { incomplete.append("IPTC: \(problem)") }
    sections["IPTC"] = includesLocations ? iptc.datasets : LocationFilter.withoutLocations(iptc: iptc.datasets)
  }

  private mutating func read(
    xmp packet: ArraySlice<UInt8>, extended parts: [ArraySlice<UInt8>], _ includesLocations: Bool
  ) {
    var properties = read(packet)
    if case .text(let guid)? = properties.removeValue(forKey: XMPPacket.extensionKey) {
      if let packet = XMPPacket.joined(parts, guid: guid) {
        properties.merge(read(packet)) { first, _ in first }
      } else {
        incomplete.append("XMP: the extended packet is incomplete")
      }
    }
    sections["XMP"] = includesLocations ? properties : LocationFilter.withoutLocations(xmp: properties)
  }

  private mutating func read(_ packet: ArraySlice<UInt8>) -> [String: MetadataValue] {
    guard packet.count <= MetadataLimits.packetBytes else {
      incomplete.append("XMP: a packet of \(packet.count) bytes, more than \(MetadataLimits.packetBytes)")
      return [:]
    }
    let xmp = XMPDictionary(packet)
    if let problem = xmp.problem { incomplete.append("XMP: \(problem)") }
    return xmp.properties
  }
}
