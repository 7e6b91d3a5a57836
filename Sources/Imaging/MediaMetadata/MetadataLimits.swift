/// What of a file's metadata is looked at before the rest is left out by name.
package enum MetadataLimits {
  /// All blocks of a file together, in bytes.
  package static let fileBytes = 16 << 20
  /// Blocks of a file.
  package static let blocks = 1024
  /// An XMP packet, and its extension, in bytes each.
  static let packetBytes = 8 << 20
  /// Elements and attributes of a packet.
  static let packetNodes = 50_000
  /// Elements inside each other.
  static let packetDepth = 64
  /// One text, in bytes; of a longer one its length is told.
  static let textBytes = 65_536
  /// Numbers of one entry; of more, their bytes are counted.
  static let entryNumbers = 256
  /// Bytes of one entry that have no meaning of their own and are told one by one.
  static let entryBytes = 64
  /// IPTC datasets of a file.
  static let datasets = 10_000
}
