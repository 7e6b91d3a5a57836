import LibraryFolder

/// A file system that a scan found: the one of the root, or one mounted below it.
package struct KnownMount: Sendable, Hashable, Codable {
  /// The path of its mount point below the root; empty for the root.
  package var path: [UInt8]
  package var fileSystem: FileSystemIdentity

  package init(path: [UInt8], fileSystem: FileSystemIdentity) {
    self.path = path
    self.fileSystem = fileSystem
  }
}
