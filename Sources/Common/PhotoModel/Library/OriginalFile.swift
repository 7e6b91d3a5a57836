/// Identifies one state of a file without reading its contents.
///
/// A render compares the file that it opened with the catalogue, so a frame of another file is never stored under the
/// version of this one. The device is not included, because its number may change when a disk is mounted again. A copy
/// has another inode and is recognised by its ``FileFingerprint``.
package struct FileIdentity: Sendable, Hashable {
  package var inode: UInt64
  package var size: Int64
  /// Nanoseconds since 1970; 0 if the list of a store has no times, such as the list of a web server.
  package var modified: Int64

  /// Whether files at other paths may have the same identity, so that it identifies a state only together with a path.
  /// A web server's entity tags distinguish only the states of one object (RFC 9110 §8.8.1): many consist of a time and
  /// a size. A bucket's entity tags are digests of the content, and an inode belongs to one file.
  package var needsPath: Bool { modified == 0 }

  package init(inode: UInt64, size: Int64, modified: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
  }

  /// Whether two modification times are equal within the resolution of all file systems: some store steps of two
  /// seconds.
  package func isOfSameTime(as other: FileIdentity) -> Bool {
    if modified == other.modified { return true }
    let isCoarse = modified % 1_000_000_000 == 0 || other.modified % 1_000_000_000 == 0
    return isCoarse && modified.distance(to: other.modified).magnitude <= 2_000_000_000
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

/// The path of an original, and its identity when it was last read.
package struct OriginalFile: Sendable, Hashable {
  /// The path below the library root, as bytes, because Linux file names are bytes. No leading slash, no NUL.
  package var path: [UInt8]
  package var identity: FileIdentity
  /// Recognises the file if its inode changes; `nil` if the file was never read.
  package var fingerprint: FileFingerprint?
  /// The embedded JPEG thumbnail of the EXIF block, if there is one.
  package var embeddedThumbnail: ByteRange?

  package init(
    path: [UInt8], identity: FileIdentity, fingerprint: FileFingerprint? = nil, embeddedThumbnail: ByteRange? = nil
  ) {
    self.path = path
    self.identity = identity
    self.fingerprint = fingerprint
    self.embeddedThumbnail = embeddedThumbnail
  }

  /// The path for display: invalid UTF-8 becomes U+FFFD.
  package var displayPath: String { String(decoding: path, as: UTF8.self) }

  /// The last component of the path, for display.
  package var displayName: String { Self.displayName(path) }

  package static func displayName(_ path: [UInt8]) -> String {
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    return String(decoding: path[start...], as: UTF8.self)
  }

  /// Whether the path is valid UTF-8, so that `displayPath` is lossless.
  package var isValidUTF8: Bool { String(validating: path, as: UTF8.self) != nil }
}
