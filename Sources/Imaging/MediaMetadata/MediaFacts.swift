import PhotoModel

/// The facts that the catalogue stores about a file beyond its EXIF summary, from any of its metadata blocks.
package struct MediaFacts: Sendable, Hashable {
  package var subtypes: MediaSubtypes = []
  /// The picture was taken with a front camera, which phones name in the lens model.
  package var isSelfPortrait = false
  /// The exposure lasted a second or longer.
  package var isLongExposure = false
  /// The file contains several pictures that play one after the other.
  package var isAnimated = false
  /// Apple's BurstUUID, or Google's BurstID: the same for all pictures of one burst.
  package var burstIdentifier: String?
  /// Apple's ContentIdentifier: equal for a live photo's picture and its video. It does not mean that the video exists;
  /// a picture that contains its video (Google's motion photos) is ``MediaSubtypes/photoLive``.
  package var contentIdentifier: String?
  /// `xmp:Rating`, or else Windows' rating in EXIF: -1 (rejected) to 5.
  package var rating: Int?
  /// Titles, keywords and the like, by the kind of block.
  package var descriptions = DescriptionSources()
  /// When and where the picture was taken, where EXIF does not say so.
  package var capture = CaptureSources()
  /// Faces, focus points and the like, as the file states them.
  package var regions = RegionSources()
  /// An edit that another program left in the file's XMP.
  package var edit: ForeignEdit?

  package init() {}

  /// Titles, keywords and the like, by the rule of ``DescriptionSources``, and the rating.
  package var descriptive: DescriptiveMetadata {
    var descriptive = descriptions.merged
    descriptive.rating = rating
    return descriptive
  }

  /// In seconds.
  private static let longExposure = 1.0

  /// The comment that iOS and Samsung write into screenshots.
  static let screenshotComment = "Screenshot"

  /// Reads only what the catalogue stores.
  ///
  /// - Parameters:
  ///   - exifBlock: the block from its TIFF header.
  ///   - xmpPacket: the packet as stored in the file.
  ///   - summary: of the EXIF block. The packet is searched only for a date and a place that it lacks.
  package init(
    exifBlock: ArraySlice<UInt8>?, xmpPacket: ArraySlice<UInt8>?, summary: EXIFSummary = EXIFSummary()
  ) {
    if let exifBlock { read(exif: exifBlock) }
    if let xmpPacket {
      read(xmp: xmpPacket)
      readDescription(xmp: xmpPacket, besides: summary)
    }
  }

  /// Reads the descriptions and the edit of the file's own packet, and the date and the place that EXIF lacks. The
  /// first packet counts.
  package mutating func readDescription(xmp packet: ArraySlice<UInt8>, besides exif: EXIFSummary) {
    let packet = packet.prefix(XMPPacket.maximumBytes)
    let mayHaveEdit = edit == nil && ForeignEdit.mayHaveEdit(packet, isSidecar: false)
    let mayDescribe = descriptions.xmp == nil && DescriptiveMetadata.mayDescribe(packet)
    let mayAddCapture = CaptureSources.mayAdd(packet, to: exif)
    guard mayHaveEdit || mayDescribe || mayAddCapture else { return }
    // Parse the packet once for all three.
    let properties = XMPDictionary(packet).properties
    if mayHaveEdit { edit = ForeignEdit(properties, isSidecar: false) }
    if mayAddCapture { capture.read(xmp: properties, besides: exif) }
    guard mayDescribe else { return }
    descriptions.xmp = DescriptiveMetadata(xmp: properties)
    if regions.xmp.isEmpty { (regions.xmp, regions.appliedTo) = RegionSources.regions(properties) }
  }

  /// Reads the descriptions and the date of the file's IPTC datasets. The first ones count.
  package mutating func readDescription(iptc datasets: ArraySlice<UInt8>) {
    guard descriptions.iptc == nil else { return }
    let values = IPTCDictionary(datasets.prefix(DescriptiveMetadata.maximumIPTCBytes)).datasets
    descriptions.iptc = DescriptiveMetadata(iptc: values)
    capture.iptcDate = capture.iptcDate ?? EXIFDate(iptc: values)
  }

  /// Adds the facts of a further packet, such as that of a picture that belongs to the first. Known facts are kept.
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
    let description = first.entries.first { $0.tag == 0x010E && $0.type == TIFFValue.text }.flatMap(tiff.content)
    let copyright = first.entries.first { $0.tag == 0x8298 && $0.type == TIFFValue.text }.flatMap(tiff.content)
    var lens: ArraySlice<UInt8>?
    defer {
      descriptions.exif = DescriptiveMetadata(imageDescription: description, lensModel: lens, copyright: copyright)
    }
    guard let pointer = tiff.long(0x8769, in: first), let exif = tiff.directory(at: pointer) else { return }
    for entry in exif.entries {
      switch entry.tag {
      // CustomRendered. The standard defines 0 and 1; iPhones write more values.
      case 0xA401 where entry.type == 3: read(rendered: tiff.number(at: entry.valuePosition, bytes: 2) ?? 0)
      // UserComment: a character code of eight bytes, then the text.
      case 0x9286 where entry.count <= 64:
        if let bytes = tiff.content(entry),
          EXIFText.coded(bytes, isBigEndian: tiff.isBigEndian) == Self.screenshotComment
        {
          subtypes.insert(.photoScreenshot)
        }
      // ExposureTime, a rational in seconds.
      case 0x829A where entry.type == 5 && entry.count == 1:
        if let bytes = tiff.content(entry),
          let seconds = TIFFValue(type: entry.type, bytes: bytes, isBigEndian: tiff.isBigEndian).decimals.first
        {
          isLongExposure = seconds ?? 0 >= Self.longExposure
        }
      // LensModel. Phones write, for example, "iPhone 12 front camera 2.71mm f/2.2".
      case 0xA434 where entry.type == TIFFValue.text:
        lens = tiff.content(entry)
        let words = lens.map { MetadataText.decoded($0.prefix(256)).lowercased().split(separator: " ") } ?? []
        if words.contains("front") { isSelfPortrait = true }
      // SubjectArea and SubjectLocation.
      case 0x9214: regions.subjectArea = Self.integers(entry, tiff)
      case 0xA214: if regions.subjectArea.isEmpty { regions.subjectArea = Self.integers(entry, tiff) }
      // PixelXDimension and PixelYDimension.
      case 0xA002: regions.exifWidth = Self.integers(entry, tiff).first
      case 0xA003: regions.exifHeight = Self.integers(entry, tiff).first
      case 0x927C: if let note = tiff.content(entry).flatMap(AppleMakerNote.init) { read(note) }
      default: break
      }
    }
  }

  /// The numbers of an entry with at most four.
  private static func integers(_ entry: TIFFBlock.Entry, _ tiff: TIFFBlock) -> [Int] {
    guard (3...4).contains(entry.type), entry.count <= 4, let bytes = tiff.content(entry) else { return [] }
    return TIFFValue(type: entry.type, bytes: bytes, isBigEndian: tiff.isBigEndian).decimals
      .compactMap { $0.map { Int($0) } }
  }

  private mutating func read(rendered: Int) {
    switch rendered {
    // HDR without and with its original. 4 is the original.
    case 2, 3: subtypes.insert(.photoHDR)
    case 6: subtypes.insert(.photoPanorama)
    case 7: subtypes.formUnion([.photoHDR, .photoDepthEffect])
    case 8, 9: subtypes.insert(.photoDepthEffect)
    default: break
    }
  }

  private mutating func read(_ note: AppleMakerNote) {
    if note.integer(AppleMakerNote.hdrImageType) == 3 { subtypes.insert(.photoHDR) }
    if note.integer(AppleMakerNote.frontFacingCamera) == 1 { isSelfPortrait = true }
    burstIdentifier = note.text(AppleMakerNote.burstUUID)
    contentIdentifier = note.text(AppleMakerNote.contentIdentifier)
  }
}
