import PhotoModel

/// Identifies one state of an object without reading it.
package struct ObjectIdentity: Sendable, Hashable {
  package enum Version: Sendable, Hashable {
    /// A file of a folder.
    case file(inode: UInt64, modified: Int64)
    /// A strong entity tag, with its quotation marks (RFC 9110 §8.8.3).
    case entityTag(String)
  }

  package var size: Int64
  package var version: Version

  package init(size: Int64, version: Version) {
    self.size = size
    self.version = version
  }

  package init(_ file: FileIdentity) {
    self.init(size: file.size, version: .file(inode: file.inode, modified: file.modified))
  }
}

/// A store's description of an object.
package struct ObjectDescription: Sendable, Hashable {
  package var identity: ObjectIdentity
  /// Seconds since 1970; `nil` where the store does not say.
  package var modified: Int64?
  /// SHA-256 of the whole object, 32 bytes, where the store gives one.
  package var sha256: [UInt8]?

  package init(identity: ObjectIdentity, modified: Int64? = nil, sha256: [UInt8]? = nil) {
    self.identity = identity
    self.modified = modified
    self.sha256 = sha256
  }
}

/// A part of a list: objects in the order of their keys.
package struct ObjectPage: Sendable, Hashable {
  package struct Entry: Sendable, Hashable {
    package let key: ObjectKey
    package let identity: ObjectIdentity
    /// Seconds since 1970; `nil` where the store does not say.
    package let modified: Int64?

    package init(key: ObjectKey, identity: ObjectIdentity, modified: Int64? = nil) {
      self.key = key
      self.identity = identity
      self.modified = modified
    }
  }

  package var entries: [Entry]
  /// Number of names that were left out because they are not an ``ObjectKey``, or have no size or no strong entity tag.
  package var skipped: Int
  /// The skipped names that are an ``ObjectKey``. Their objects exist, but their state is unknown.
  package var unidentified: [ObjectKey]
  /// Where the next page begins; `nil` after the last one.
  package var next: Position?

  package init(
    entries: [Entry] = [], skipped: Int = 0, unidentified: [ObjectKey] = [], next: Position? = nil
  ) {
    self.entries = entries
    self.skipped = skipped
    self.unidentified = unidentified
    self.next = next
  }

  /// A position in a list. Only the store that made it understands it.
  package struct Position: Sendable, Hashable {
    let text: [UInt8]
    /// The last name of the store that was listed before the position, also if it is in no page.
    var lastName: [UInt8]?
    /// Pages without any name since then.
    var emptyPages = 0
  }
}
