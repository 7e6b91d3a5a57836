import CEmbeddedFiles

/// The files that are part of the program: the module CEmbeddedFiles.
enum EmbeddedFiles {
  /// The files of a folder, by their names in it.
  ///
  /// - Parameter folder: with a slash at its end.
  static func all(in folder: String) -> [(name: String, bytes: [UInt8])] {
    table.filter { $0.path.hasPrefix(folder) }.map { (String($0.path.dropFirst(folder.count)), Array($0.bytes)) }
  }

  /// One file. It exists: paths are constants of the program.
  static func file(_ path: String) -> UnsafeBufferPointer<UInt8> {
    guard let file = table.first(where: { $0.path == path }) else { preconditionFailure("\(path) is not embedded") }
    return file.bytes
  }

  private static var table: [(path: String, bytes: UnsafeBufferPointer<UInt8>)] {
    var count = 0
    let files = photod_embedded_files(&count)
    return UnsafeBufferPointer(start: files, count: count).map {
      (String(cString: $0.path), UnsafeBufferPointer(start: $0.bytes, count: $0.count))
    }
  }
}
