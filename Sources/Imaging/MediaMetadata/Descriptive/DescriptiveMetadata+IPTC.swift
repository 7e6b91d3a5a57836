import PhotoModel

extension DescriptiveMetadata {
  /// The length of the datasets that are read for the catalogue.
  package static let maximumIPTCBytes = 65_536

  /// Title (2:05), caption (2:120), keywords (2:25), copyright (2:116) and place (2:90, 2:95, 2:101) of IPTC-IIM
  /// datasets (IIM 4.2 §6); `nil` if there are none of these.
  package init?(iptc datasets: ArraySlice<UInt8>) {
    self.init(iptc: IPTCDictionary(datasets.prefix(Self.maximumIPTCBytes)).datasets)
  }

  init?(iptc datasets: [String: MetadataValue]) {
    self.init()
    title = DescriptiveText.name(datasets["ObjectName"]?.firstText)
    caption = DescriptiveText.caption(datasets["Caption-Abstract"]?.firstText)
    keywords = DescriptiveText.words(datasets["Keywords"]?.texts ?? [], atMost: DescriptiveLimits.keywords)
    rights = DescriptiveText.name(datasets["CopyrightNotice"]?.firstText)
    place = PlaceNames(
      city: DescriptiveText.name(datasets["City"]?.firstText),
      region: DescriptiveText.name(datasets["Province-State"]?.firstText),
      country: DescriptiveText.name(datasets["Country-PrimaryLocationName"]?.firstText))
    if self == DescriptiveMetadata() { return nil }
  }
}

extension MetadataValue {
  /// A text, or the texts of an array; a text with qualifiers counts as the text.
  var texts: [String] {
    switch self {
    case .text(let text): [text]
    case .array(let items): items.flatMap(\.texts)
    case .object(let fields): fields["rdf:value"]?.texts ?? []
    default: []
    }
  }

  var firstText: String? { texts.first }
}
