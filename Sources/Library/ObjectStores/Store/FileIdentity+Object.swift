// Maps the identity of an object to the file identity that the catalogue stores.

import Cryptography
import PhotoModel

extension FileIdentity {
  /// The identity of an object in the catalogue: its size, its time and, instead of an inode, a digest of its entity
  /// tag. Objects in a folder keep inode and time of their file.
  package init(_ entry: ObjectPage.Entry) {
    switch entry.identity.version {
    case .file(let inode, let modified):
      self.init(inode: inode, size: entry.identity.size, modified: modified)
    case .entityTag(let tag):
      let digest = Digest.sha256(tag.utf8).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      // Not 0, which is the inode of `FileIdentity.unknown`. A time after the year 2262 counts as none.
      let (modified, overflows) = (entry.modified ?? 0).multipliedReportingOverflow(by: 1_000_000_000)
      self.init(inode: max(1, digest), size: entry.identity.size, modified: overflows ? 0 : modified)
    }
  }

  /// Whether an object is in the state that the catalogue knows. A new time under the same entity tag changes nothing:
  /// some lists have no times.
  package func isIdentity(of object: ObjectIdentity, _ key: ObjectKey) -> Bool {
    var found = FileIdentity(ObjectPage.Entry(key: key, identity: object))
    if case .entityTag = object.version { found.modified = modified }
    return found == self
  }
}
