import PhotoModel

/// Photoshop's image resource blocks (Photoshop file formats, "Image Resources Section"): the content of a JPEG's APP13
/// and of TIFF tag 0x8649, which among other things contains the IPTC datasets. If a file spreads them over several
/// segments, a resource may continue in the next segment.
package struct ImageResources {
  /// The bytes before the resources in an APP13.
  package static let signature: [UInt8] = Array("Photoshop 3.0".utf8) + [0]

  private static let iptcResource = 0x0404
  private static let blockSignature: [UInt8] = Array("8BIM".utf8)

  /// The ranges of the IPTC datasets in the file, in order.
  package private(set) var blocks: [MetadataBlock] = []
  /// Bytes of the current resource that follow in the next segment, including padding.
  private var rest = 0
  private var restOfDatasets = 0

  package init() {}

  /// Reads the next segment.
  ///
  /// - Parameters:
  ///   - bytes: the segment's content after the signature.
  ///   - start: the position of `bytes` in the file.
  package mutating func take(_ bytes: ArraySlice<UInt8>, at start: Int64) {
    var position = 0
    if rest > 0 {
      note(min(restOfDatasets, bytes.count), at: start)
      restOfDatasets -= min(restOfDatasets, bytes.count)
      position = min(rest, bytes.count)
      rest -= position
    }
    while position + 12 <= bytes.count {
      let head = bytes.dropFirst(position)
      guard head.starts(with: Self.blockSignature) else { return }
      // After the identifier comes a Pascal string, padded to an even length.
      let name = (Int(head[head.startIndex + 6]) + 2) & ~1
      guard position + 6 + name + 4 <= bytes.count else { return }
      let identifier = number(bytes, at: position + 4, count: 2)
      let length = number(bytes, at: position + 6 + name, count: 4)
      let content = position + 6 + name + 4
      let padded = length + length % 2
      let contained = min(padded, bytes.count - content)
      if identifier == Self.iptcResource {
        note(min(length, contained), at: start + Int64(content))
        restOfDatasets = length - min(length, contained)
      }
      rest = padded - contained
      position = content + contained
    }
  }

  private mutating func note(_ length: Int, at offset: Int64) {
    if length > 0 { blocks.append(MetadataBlock(.iptc, ByteRange(offset: offset, length: length))) }
  }

  private func number(_ bytes: ArraySlice<UInt8>, at position: Int, count: Int) -> Int {
    let start = bytes.startIndex + position
    return bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
  }
}
