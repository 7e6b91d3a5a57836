import PhotoModel

/// Work on many assets, one after the other, for times when no client waits for a picture.
package protocol BackgroundWork: Sendable {
  /// Starts again with the first asset: after a scan, or whenever there may be something new. Callable from any thread
  /// at any time.
  func restart()

  /// Whether the work must start again when pictures were edited. Work that only looks for new assets need not.
  var followsEdits: Bool { get }

  /// The next step; `nil` if nothing is left until `restart`. May open files and query the catalogue, but decodes
  /// nothing. One caller at a time.
  func next() throws(AssetSourceError) -> BackgroundStep?

  /// Saves the results so far. Called when the runner stops.
  func flush() throws(AssetSourceError)
}

extension BackgroundWork {
  package func flush() {}
  package var followsEdits: Bool { false }
}

/// One step of work, and the memory that it needs.
package struct BackgroundStep: Sendable {
  package let bytes: Int
  package let run: @Sendable (StopFlag) throws(AssetSourceError) -> Void

  package init(bytes: Int, run: @escaping @Sendable (StopFlag) throws(AssetSourceError) -> Void) {
    self.bytes = bytes
    self.run = run
  }
}
