// The EXIF of an original, for a picture that was rendered from it: upright, of another size, with its own profile.
// Facts about the photograph stay, with the maker note; those about the stored pixels go.

package enum CarriedEXIF {
  /// The maximum length of a block, so that it fits into one segment of a JPEG (CIPA DC-008 §4.5.4).
  package static let maximumBytes = 65_533 - EXIFSummary.signature.count

  /// Layout of pixels, embedded pictures, and blocks that have places of their own in a file: BitsPerSample,
  /// Compression, PhotometricInterpretation, StripOffsets, SamplesPerPixel, RowsPerStrip, StripByteCounts,
  /// PlanarConfiguration, tiles, SubIFDs, JPEGInterchangeFormat, XMP, IPTC, Photoshop, ICC.
  private static let removedFromFirst: Set<Int> = [
    0x0102, 0x0103, 0x0106, 0x0111, 0x0115, 0x0116, 0x0117, 0x011C, 0x0142, 0x0143, 0x0144, 0x0145, 0x014A, 0x0201,
    0x0202, 0x02BC, 0x83BB, 0x8649, 0x8773,
  ]
  /// SubjectArea and SubjectLocation are positions in the stored picture.
  private static let removedFromEXIF: Set<Int> = [0x9214, 0xA214]

  /// The block of the rendered picture; `nil` if the original's can't be understood, or is too long.
  ///
  /// - Parameters:
  ///   - original: from its TIFF header.
  ///   - facts: what is removed; `nil`: nothing.
  ///   - width: of the rendered picture.
  package static func block(
    _ original: ArraySlice<UInt8>, width: Int, height: Int, removing facts: PrivateFacts?
  ) -> [UInt8]? {
    guard original.count <= maximumBytes, let tiff = TIFFBlock(original), let first = tiff.firstDirectory,
      let firstOffset = tiff.number(at: 4, bytes: 4)
    else { return nil }
    let found: LocationBlocks.Directories
    do throws(LocationRemovalError) {
      found = try LocationBlocks.exif(original, removing: facts ?? .locations)
    } catch {
      return nil
    }
    var block = EditedBlock(Array(original), isBigEndian: tiff.isBigEndian)
    if facts != nil { for patch in found.patches { block.replace(patch) } }
    // Thumbnails and previews show the picture before its edit.
    for picture in found.pictures + (tiff.thumbnail.map { [$0] } ?? []) { block.clear(picture) }
    for entry in first.entries {
      switch entry.tag {
      case 0x0100: block.set(entry, width)
      case 0x0101: block.set(entry, height)
      case 0x0112: block.set(entry, 1)
      default: break
      }
    }
    if let offset = tiff.long(0x8769, in: first), let exif = tiff.directory(at: offset) {
      for entry in exif.entries {
        switch entry.tag {
        case 0xA002: block.set(entry, width)
        case 0xA003: block.set(entry, height)
        default: break
        }
      }
      block.remove(removedFromEXIF, fromDirectoryAt: offset)
    }
    block.remove(removedFromFirst, fromDirectoryAt: firstOffset)
    // The bytes of a thumbnail at the end are cut off; others were cleared in place.
    if let thumbnail = tiff.thumbnail, thumbnail.upperBound == original.count {
      block.bytes.removeLast(thumbnail.count)
    }
    return block.bytes
  }

  /// A TIFF structure that is changed in place.
  private struct EditedBlock {
    var bytes: [UInt8]
    let isBigEndian: Bool

    init(_ bytes: [UInt8], isBigEndian: Bool) {
      self.bytes = bytes
      self.isBigEndian = isBigEndian
    }

    mutating func replace(_ patch: BlockPatch) {
      guard patch.offset >= 0, patch.offset + patch.bytes.count <= bytes.count else { return }
      bytes.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
    }

    mutating func clear(_ range: Range<Int>) {
      for i in range.clamped(to: 0..<bytes.count) { bytes[i] = 0 }
    }

    /// Sets an entry of one SHORT or LONG; others, and a SHORT that the value exceeds, become 0.
    mutating func set(_ entry: TIFFBlock.Entry, _ value: Int) {
      guard entry.count == 1, [3, 4].contains(entry.type) else { return }
      let width = entry.type == 3 ? 2 : 4
      put(entry.type == 3 && value > 0xFFFF ? 0 : value, at: entry.valuePosition, width)
    }

    private mutating func put(_ value: Int, at position: Int, _ width: Int) {
      guard position >= 0, position + width <= bytes.count else { return }
      for i in 0..<width {
        bytes[position + (isBigEndian ? width - 1 - i : i)] = UInt8(truncatingIfNeeded: value >> (8 * i))
      }
    }

    /// Removes entries of a directory, and the directory after it: later entries move up. Values elsewhere in the block
    /// stay where they are.
    mutating func remove(_ tags: Set<Int>, fromDirectoryAt offset: Int) {
      let block = TIFFBlock(bytes[...], isBigEndian: isBigEndian)
      guard let directory = block.directory(at: offset) else { return }
      var end = offset + 2
      for entry in directory.entries where !tags.contains(entry.tag) {
        let start = entry.valuePosition - 8
        if start != end { bytes.replaceSubrange(end..<end + 12, with: Array(bytes[start..<start + 12])) }
        end += 12
      }
      put((end - offset - 2) / 12, at: offset, 2)
      put(0, at: end, 4)
      let old = offset + 2 + directory.entries.count * 12 + 4
      if end + 4 < old { clear(end + 4..<old) }
    }
  }
}
