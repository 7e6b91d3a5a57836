/// The limits of reading metadata. Metadata that exceeds them is omitted and listed in
/// ``MetadataDictionary/incomplete``.
package enum MetadataLimits {
  /// All blocks of a file together, in bytes.
  package static let fileBytes = 16 << 20
  /// Blocks of a file.
  package static let blocks = 1024
  /// An XMP packet or its extension, in bytes each.
  static let packetBytes = 8 << 20
  /// Elements and attributes of a packet.
  static let packetNodes = 50_000
  /// Depth of nested elements.
  static let packetDepth = 64
  /// One text, in bytes. A longer one is replaced by its length.
  static let textBytes = 65_536
  /// Numbers of one entry. More are replaced by their count of bytes.
  static let entryNumbers = 256
  /// Bytes of one entry without a readable meaning that are listed one by one.
  static let entryBytes = 64
  /// IPTC datasets of a file.
  static let datasets = 10_000
}
