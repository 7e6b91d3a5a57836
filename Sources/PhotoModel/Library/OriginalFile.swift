/// What tells one state of a file from another without reading it.
///
/// A render compares the file that it opened with what the catalogue knew; a frame of another file is never stored
/// under this one's version. The device is not part of it: its number may change when a disk is mounted again.
package struct FileIdentity: Sendable, Hashable {
  package var inode: UInt64
  package var size: Int64
  /// Nanoseconds since 1970.
  package var modified: Int64

  package init(inode: UInt64, size: Int64, modified: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
  }
}

/// A range of bytes in a file.
package struct ByteRange: Sendable, Hashable {
  package var offset: Int64
  package var length: Int

  package init(offset: Int64, length: Int) {
    self.offset = offset
    self.length = length
  }
}

/// Where an asset's original lies and what it was when it was last looked at.
package struct OriginalFile: Sendable, Hashable {
  /// The path below the library's root: bytes, because that is what a file name is on Linux. No leading slash, no NUL.
  package var path: [UInt8]
  package var identity: FileIdentity
  /// The JPEG that the camera put into the EXIF block, if there is one.
  package var embeddedThumbnail: ByteRange?

  package init(path: [UInt8], identity: FileIdentity, embeddedThumbnail: ByteRange? = nil) {
    self.path = path
    self.identity = identity
    self.embeddedThumbnail = embeddedThumbnail
  }

  /// The path for people: bytes that are not UTF-8 become U+FFFD.
  package var displayPath: String { String(decoding: path, as: UTF8.self) }

  /// The last component of the path, for people.
  package var displayName: String { Self.displayName(path) }

  package static func displayName(_ path: [UInt8]) -> String {
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    return String(decoding: path[start...], as: UTF8.self)
  }

  /// The path is text, so that `displayPath` is all of it.
  package var isText: Bool { String(validating: path, as: UTF8.self) != nil }
}
