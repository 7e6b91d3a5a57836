/// The source of a creation date, from the most to the least reliable.
package enum DateSource: String, Sendable, Hashable, CaseIterable {
  /// Set by a user; overrides the file.
  case user
  /// The file has a date with its offset from UTC.
  case metadata
  /// The file has a date without an offset; the configured zone of the library is assumed.
  case metadataInLibraryZone
  /// The file has no date in its metadata, but its container has one, for example a video container.
  case container
  /// The file has no date; this is the modification date of the file.
  case file
}
