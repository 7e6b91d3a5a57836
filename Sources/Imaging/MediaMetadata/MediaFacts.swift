import PhotoModel

/// What the catalogue wants to know of a file beyond its EXIF summary, out of any of its metadata blocks.
package struct MediaFacts: Sendable, Hashable {
  package var subtypes: MediaSubtypes = []
  /// Apple's BurstUUID, or Google's BurstID: the same for all pictures of one burst.
  package var burstIdentifier: String?
  /// Apple's ContentIdentifier: the same for a live photo's picture and its video. That there is a video it does not say; a
  /// picture that has its video in it (Google's motion photos) is ``MediaSubtypes/photoLive``.
  package var contentIdentifier: String?
  /// `xmp:Rating`, else Windows' in EXIF: -1 (rejected) to 5.
  package var rating: Int?

  package init() {}

  /// What iOS and Samsung write as a screenshot's comment.
  static let screenshotComment = "Screenshot"

  /// Reads what the catalogue wants to know, and stops there.
  ///
  /// - Parameters:
  ///   - exifBlock: from its TIFF header on.
  ///   - xmpPacket: the packet as it lies in the file.
  package init(exifBlock: ArraySlice<UInt8>?, xmpPacket: ArraySlice<UInt8>?) {
    if let exifBlock { read(exif: exifBlock) }
    if let xmpPacket { read(xmp: xmpPacket) }
  }

  /// Adds what a further packet says, such as that of a picture that belongs to the first. What is known stays.
  package mutating func read(xmp packet: ArraySlice<UInt8>) {
    guard let facts = XMPFacts.read(packet) else { return }
    subtypes.formUnion(facts.subtypes)
    burstIdentifier = burstIdentifier ?? facts.burstIdentifier
    rating = facts.rating ?? rating
  }

  private mutating func read(exif block: ArraySlice<UInt8>) {
    guard let tiff = TIFFBlock(block), let first = tiff.firstDirectory else { return }
    // Windows' Rating.
    if let entry = first.entries.first(where: { $0.tag == 0x4746 && $0.type == 3 }),
      let stars = tiff.number(at: entry.valuePosition, bytes: 2), stars <= 5
    {
      rating = stars
    }
    guard let pointer = tiff.long(0x8769, in: first), let exif = tiff.directory(at: pointer) else { return }
    for entry in exif.entries {
      switch entry.tag {
      // CustomRendered. The standard has 0 and 1; iPhones write more.
      case 0xA401 where entry.type == 3: read(rendered: tiff.number(at: entry.valuePosition, bytes: 2) ?? 0)
      // UserComment: a code of eight bytes, and the text.
      case 0x9286 where entry.count <= 64:
        if let bytes = tiff.content(entry),
          EXIFText.coded(bytes, isBigEndian: tiff.isBigEndian) == Self.screenshotComment
        {
          subtypes.insert(.photoScreenshot)
        }
      case 0x927C: if let note = tiff.content(entry).flatMap(AppleMakerNote.init) { read(note) }
      default: break
      }
    }
  }

  private mutating func read(rendered: Int) {
    switch rendered {
    // HDR, without its original or with it. 4 is the original.
    case 2, 3: subtypes.insert(.photoHDR)
    case 6: subtypes.insert(.photoPanorama)
    case 7: subtypes.formUnion([.photoHDR, .photoDepthEffect])
    case 8, 9: subtypes.insert(.photoDepthEffect)
    default: break
    }
  }

  private mutating func read(_ note: AppleMakerNote) {
    if note.integer(AppleMakerNote.hdrImageType) == 3 { subtypes.insert(.photoHDR) }
    burstIdentifier = note.text(AppleMakerNote.burstUUID)
    contentIdentifier = note.text(AppleMakerNote.contentIdentifier)
  }
}
