// IPTC-IIM datasets by name (IPTC Information Interchange Model, version 4.2).

/// The datasets of a file.
struct IPTCDictionary {
  private(set) var datasets: [String: MetadataValue] = [:]
  /// Why datasets may be missing.
  private(set) var problem: String?

  private enum Encoding {
    case utf8, latin1
    /// The file declares no encoding, or an unknown one.
    case guessed
  }

  private static let marker: UInt8 = 0x1C
  private static let codedCharacterSet = 90

  /// - Parameter bytes: consecutive datasets (§1.6), possibly followed by padding.
  init(_ bytes: ArraySlice<UInt8>) {
    var gathered: [Int: [ArraySlice<UInt8>]] = [:]
    var encoding = Encoding.guessed
    var rest = bytes
    var count = 0
    while rest.first == Self.marker {
      guard let (record, number, content) = Self.next(&rest) else {
        problem = "a dataset is longer than the rest of the block"
        break
      }
      count += 1
      guard count <= MetadataLimits.datasets else {
        problem = "more than \(MetadataLimits.datasets) datasets"
        break
      }
      if record == 1, number == Self.codedCharacterSet { encoding = Self.encoding(content) }
      gathered[record << 8 | number, default: []].append(content)
    }
    for (identifier, contents) in gathered {
      let dataset = IPTCDataset(record: identifier >> 8, number: identifier & 255)
      let values = contents.map { Self.value($0, dataset, encoding) }
      // Two blocks of one file often repeat the same datasets.
      let isSame = values.allSatisfy { $0 == values.first }
      datasets[dataset.name] = dataset.isRepeatable ? .array(values) : .list(isSame ? Array(values.prefix(1)) : values)
    }
  }

  /// Reads a dataset: marker, record, number, length, content. A length of 0x8000 or more states how many bytes the
  /// actual length takes (§1.6.2, "Extended DataSet").
  private static func next(_ rest: inout ArraySlice<UInt8>) -> (record: Int, number: Int, content: ArraySlice<UInt8>)? {
    let head = Array(rest.prefix(5))
    guard head.count == 5 else { return nil }
    rest = rest.dropFirst(5)
    var length = Int(head[3]) << 8 | Int(head[4])
    if length >= 0x8000 {
      let digits = length & 0x7FFF
      guard digits <= 4, rest.count >= digits else { return nil }
      length = rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(digits)
    }
    guard rest.count >= length else { return nil }
    defer { rest = rest.dropFirst(length) }
    return (Int(head[1]), Int(head[2]), rest.prefix(length))
  }

  /// 1:90 holds escape sequences of ISO 2022 (§5, "1:90").
  private static func encoding(_ content: ArraySlice<UInt8>) -> Encoding {
    switch Array(content) {
    case [0x1B, 0x25, 0x47], [0x1B, 0x25, 0x2F, 0x47], [0x1B, 0x25, 0x2F, 0x48], [0x1B, 0x25, 0x2F, 0x49]: .utf8
    case [0x1B, 0x2E, 0x41], [0x1B, 0x2D, 0x41]: .latin1
    default: .guessed
    }
  }

  private static func value(
    _ content: ArraySlice<UInt8>, _ dataset: IPTCDataset, _ encoding: Encoding
  ) -> MetadataValue {
    switch dataset.form {
    case .number where content.count <= 4: .integer(content.reduce(0) { $0 << 8 | Int($1) })
    case .number, .binary: .bytes(content.count)
    case .escapes: .text(escapes(content))
    case .text where content.count > MetadataLimits.textBytes: .bytes(content.count)
    case .text: .text(text(content, encoding))
    }
  }

  private static func text(_ content: ArraySlice<UInt8>, _ encoding: Encoding) -> String {
    switch encoding {
    case .utf8: MetadataText.trimmed(String(decoding: content.prefix { $0 != 0 }, as: UTF8.self))
    case .latin1: MetadataText.trimmed(MetadataText.latin(content.prefix { $0 != 0 }))
    case .guessed: MetadataText.decoded(content)
    }
  }

  private static func escapes(_ content: ArraySlice<UInt8>) -> String {
    switch encoding(content) {
    case .utf8: "UTF-8"
    case .latin1: "ISO 8859-1"
    case .guessed: content.map { String($0, radix: 16) }.joined(separator: " ")
    }
  }
}

/// The identity of a dataset.
struct IPTCDataset {
  enum Form {
    case text, number, binary
    /// 1:90 itself.
    case escapes
  }

  let record: Int
  let number: Int

  /// The name in the standard and in ExifTool; `record:number` if it has none.
  var name: String { Self.names[record << 8 | number] ?? "\(record):\(number)" }

  /// Whether the standard allows the dataset more than once.
  var isRepeatable: Bool { Self.repeatable.contains(record << 8 | number) }

  var form: Form {
    switch (record, number) {
    case (1, 90): .escapes
    case (1, 0), (1, 20), (1, 22), (1, 120), (1, 122), (2, 0), (2, 200), (2, 201): .number
    case (2, 125), (2, 202), (3..., _), (0, _): .binary
    default: .text
    }
  }

  private static let repeatable: Set<Int> = Set(
    [(1, 5), (1, 50)].map { $0.0 << 8 | $0.1 }
      + [4, 12, 20, 25, 26, 27, 45, 47, 50, 80, 85, 118, 122].map { 2 << 8 | $0 })

  private static let names: [Int: String] = Dictionary(
    uniqueKeysWithValues: envelope.map { (1 << 8 | $0.0, $0.1) } + application.map { (2 << 8 | $0.0, $0.1) })

  private static let envelope: [(Int, String)] = [
    (0, "EnvelopeRecordVersion"), (5, "Destination"), (20, "FileFormat"), (22, "FileVersion"),
    (30, "ServiceIdentifier"), (40, "EnvelopeNumber"), (50, "ProductID"), (60, "EnvelopePriority"), (70, "DateSent"),
    (80, "TimeSent"), (90, "CodedCharacterSet"), (100, "UniqueObjectName"), (120, "ARMIdentifier"),
    (122, "ARMVersion"),
  ]

  private static let application: [(Int, String)] = [
    (0, "ApplicationRecordVersion"), (3, "ObjectTypeReference"), (4, "ObjectAttributeReference"), (5, "ObjectName"),
    (7, "EditStatus"), (8, "EditorialUpdate"), (10, "Urgency"), (12, "SubjectReference"), (15, "Category"),
    (20, "SupplementalCategories"), (22, "FixtureIdentifier"), (25, "Keywords"), (26, "ContentLocationCode"),
    (27, "ContentLocationName"), (30, "ReleaseDate"), (35, "ReleaseTime"), (37, "ExpirationDate"),
    (38, "ExpirationTime"), (40, "SpecialInstructions"), (42, "ActionAdvised"), (45, "ReferenceService"),
    (47, "ReferenceDate"), (50, "ReferenceNumber"), (55, "DateCreated"), (60, "TimeCreated"),
    (62, "DigitalCreationDate"), (63, "DigitalCreationTime"), (65, "OriginatingProgram"), (70, "ProgramVersion"),
    (75, "ObjectCycle"), (80, "By-line"), (85, "By-lineTitle"), (90, "City"), (92, "Sub-location"),
    (95, "Province-State"), (100, "Country-PrimaryLocationCode"), (101, "Country-PrimaryLocationName"),
    (103, "OriginalTransmissionReference"), (105, "Headline"), (110, "Credit"), (115, "Source"),
    (116, "CopyrightNotice"), (118, "Contact"), (120, "Caption-Abstract"), (121, "LocalCaption"),
    (122, "Writer-Editor"), (125, "RasterizedCaption"), (130, "ImageType"), (131, "ImageOrientation"),
    (135, "LanguageIdentifier"), (150, "AudioType"), (151, "AudioSamplingRate"), (152, "AudioSamplingResolution"),
    (153, "AudioDuration"), (154, "AudioOutcue"), (184, "JobID"), (185, "MasterDocumentID"), (186, "ShortDocumentID"),
    (187, "UniqueDocumentID"), (188, "OwnerID"), (200, "ObjectPreviewFileFormat"), (201, "ObjectPreviewFileVersion"),
    (202, "ObjectPreviewData"), (221, "Prefs"), (225, "ClassifyState"), (228, "SimilarityIndex"),
    (230, "DocumentNotes"), (231, "DocumentHistory"), (232, "ExifCameraInfo"), (255, "CatalogSets"),
  ]
}
