import PhotoModel

/// Something to be done for many assets, one after the other, when nobody waits for a picture.
package protocol BackgroundWork: Sendable {
  /// Begins again with the first asset: after a scan, or whenever there may be something new. Any thread, at any time.
  func restart()

  /// The next step; `nil`: there is nothing left until `restart`. May open files and ask the catalogue, and decodes
  /// nothing. One caller at a time.
  func next() throws(AssetSourceError) -> BackgroundStep?

  /// Keeps what was done so far: nothing more will be, for now.
  func finish() throws(AssetSourceError)
}

extension BackgroundWork {
  package func finish() {}
}

/// One thing to do, and the memory that it takes.
package struct BackgroundStep: Sendable {
  package let bytes: Int
  package let carryOut: @Sendable (StopFlag) throws(AssetSourceError) -> Void

  package init(bytes: Int, carryOut: @escaping @Sendable (StopFlag) throws(AssetSourceError) -> Void) {
    self.bytes = bytes
    self.carryOut = carryOut
  }
}
