/// Apple's maker note: a TIFF directory after the text "Apple iOS", with offsets from the note's first byte. Apple does
/// not document it; tags and names are ExifTool's.
struct AppleMakerNote {
  private static let signature: [UInt8] = Array("Apple iOS".utf8) + [0]

  /// 3: the picture was merged from several exposures. 4: it is one of them.
  static let hdrImageType = 0x000A
  static let burstUUID = 0x000B
  static let contentIdentifier = 0x0011
  /// 1: taken with the front camera.
  static let frontFacingCamera = 0x0045

  private let block: TIFFBlock
  private let directory: TIFFBlock.Directory

  /// `nil` if the note is another maker's, or damaged.
  init?(_ note: ArraySlice<UInt8>) {
    // Signature, version, byte order, directory.
    guard note.starts(with: Self.signature), note.count > 14 else { return nil }
    let order = note.dropFirst(12).prefix(2)
    guard order.elementsEqual("MM".utf8) || order.elementsEqual("II".utf8) else { return nil }
    block = TIFFBlock(note, isBigEndian: order.first == UInt8(ascii: "M"))
    guard let directory = block.directory(at: 14) else { return nil }
    self.directory = directory
  }

  func integer(_ tag: Int) -> Int? { value(tag)?.integer }

  /// The first number of an entry.
  func decimal(_ tag: Int) -> Double? { value(tag)?.decimals.first ?? nil }

  /// `nil` if the entry is missing or empty.
  func text(_ tag: Int) -> String? {
    guard let value = value(tag), value.type == TIFFValue.text else { return nil }
    let text = MetadataText.decoded(value.bytes)
    return text.isEmpty ? nil : text
  }

  /// All entries by name, or by their tag as a hexadecimal number.
  var dictionary: [String: MetadataValue] {
    var dictionary: [String: MetadataValue] = [:]
    for entry in directory.entries {
      guard let value = value(entry) else { continue }
      dictionary[Self.names[entry.tag] ?? EXIFNames.hexadecimal(entry.tag)] = value.metadataValue
    }
    return dictionary
  }

  private func value(_ tag: Int) -> TIFFValue? { directory.entries.first { $0.tag == tag }.flatMap(value) }

  private func value(_ entry: TIFFBlock.Entry) -> TIFFValue? {
    block.content(entry).map { TIFFValue(type: entry.type, bytes: $0, isBigEndian: block.isBigEndian) }
  }

  private static let names: [Int: String] = [
    0x0001: "MakerNoteVersion", 0x0002: "AEMatrix", 0x0003: "RunTime", 0x0004: "AEStable", 0x0005: "AETarget",
    0x0006: "AEAverage", 0x0007: "AFStable", 0x0008: "AccelerationVector", 0x0009: "SISMethod",
    hdrImageType: "HDRImageType", burstUUID: "BurstUUID", 0x000C: "FocusDistanceRange", 0x000F: "OISMode",
    contentIdentifier: "ContentIdentifier", 0x0014: "ImageCaptureType", 0x0015: "ImageUniqueID",
    0x0017: "LivePhotoVideoIndex", 0x0019: "ImageProcessingFlags", 0x001A: "QualityHint",
    0x001D: "LuminanceNoiseAmplitude", 0x0020: "ImageCaptureRequestID", 0x0021: "HDRHeadroom", 0x0025: "SceneFlags",
    0x0026: "SignalToNoiseRatioType", 0x0027: "SignalToNoiseRatio", 0x002B: "PhotoIdentifier", 0x002F: "FocusPosition",
    0x0030: "HDRGain", 0x0038: "AFMeasuredDepth", 0x003D: "AFConfidence", 0x003E: "ColorCorrectionMatrix",
    0x003F: "GreenGhostMitigationStatus", 0x0040: "SemanticStyle", 0x0041: "SemanticStyleRenderingVersion",
    0x0042: "SemanticStylePreset", frontFacingCamera: "FrontFacingCamera",
  ]
}
