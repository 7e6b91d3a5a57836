// Opens originals: turns a file name from the catalogue into bytes. `LibraryFolder` provides the store over the
// library's folder; remote stores will be added here.

/// Why an original could not be opened.
package enum OriginalStoreError: Error, Sendable, Equatable {
  /// The file is missing, or its path leads out of the library.
  case notFound
  /// The path exists, but it is neither the file that the catalogue knows nor a copy of it: it was replaced or edited.
  case changed
  case failed(SystemError)
}

package struct OriginalStore: Sendable {
  private let opening: @Sendable (OriginalFile) throws(OriginalStoreError) -> any ByteSource

  package init(_ opening: @escaping @Sendable (OriginalFile) throws(OriginalStoreError) -> any ByteSource) {
    self.opening = opening
  }

  /// Opens an original for reading. Blocks while the file system does.
  package func open(_ original: OriginalFile) throws(OriginalStoreError) -> any ByteSource { try opening(original) }
}
