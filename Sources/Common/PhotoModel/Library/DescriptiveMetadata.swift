/// The descriptions of a picture, from its file or from a change list, and the lens.
package struct DescriptiveMetadata: Sendable, Hashable {
  package var title: String?
  package var caption: String?
  /// Without duplicates, in the order of their source.
  package var keywords: [String] = []
  /// `xmp:Rating`: -1 (rejected), 0 (unrated), 1...5 stars.
  package var rating: Int?
  /// The names of the people in the picture.
  package var people: [String] = []
  package var lensModel: String?
  /// The copyright statement, as text for people.
  package var rights: String?
  /// The URI of a license of Creative Commons, or of a statement of rightsstatements.org.
  package var license: String?
  /// A location: only for principals with the scope `location`.
  package var place = PlaceNames()

  package init() {}

  package static let ratings = -1...5

  /// Whether a text is coordinates, which some programs write as keywords (`geo:lat=52.5`). The texts of an asset are
  /// visible without the scope `location`, so the catalogue stores no coordinates among them. Compares scalars: a mark
  /// after the colon is part of its `Character`.
  package static func isCoordinates(_ text: some StringProtocol) -> Bool {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(4))).lowercased() == "geo:"
  }
}

/// The names of the place of a picture.
package struct PlaceNames: Sendable, Hashable {
  package var city: String?
  /// A state or province.
  package var region: String?
  package var country: String?

  package init(city: String? = nil, region: String? = nil, country: String? = nil) {
    self.city = city
    self.region = region
    self.country = country
  }

  package var isEmpty: Bool { city == nil && region == nil && country == nil }
}

/// Limits of the values that are read from a file. Longer texts are truncated, further list items are ignored.
package enum DescriptiveLimits {
  /// A title, a lens or the name of a place, in UTF-8 bytes.
  package static let nameBytes = 512
  package static let captionBytes = 4096
  package static let keywords = 200
  /// A keyword or a person's name, in UTF-8 bytes.
  package static let wordBytes = 256
  package static let people = 200
}

/// The properties of an asset that a user set with a change list. They take precedence over the file's.
package struct UserFields: OptionSet, Sendable, Hashable {
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  package static let title = UserFields(rawValue: 1 << 0)
  package static let caption = UserFields(rawValue: 1 << 1)
  package static let keywords = UserFields(rawValue: 1 << 2)
  package static let rating = UserFields(rawValue: 1 << 3)
  package static let regions = UserFields(rawValue: 1 << 4)
}
