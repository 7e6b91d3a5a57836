import LibraryFolder

/// A difference between a catalogue and its library, or an inconsistency within a catalogue.
package enum CheckDifference: Sendable, Hashable {
  /// A file without a row in the catalogue.
  case onlyOnDisk(path: [UInt8])
  /// A row whose file does not exist.
  case onlyInCatalogue(path: [UInt8])
  /// A file whose inode, size or time differs from the catalogue.
  case changed(path: [UInt8])
  /// A folder that can't be listed; nothing below it was compared.
  case unreadableFolder(path: [UInt8], reason: String)
  /// A missing file system; nothing below it was compared.
  case mountMissing(path: [UInt8])
  /// A row whose path now belongs to another file.
  case rowWithoutPath(row: Int64)
  /// A file row without an asset and without a reason for that.
  case fileWithoutAsset(path: [UInt8])
  case assetWithoutFile(localIdentifier: String)
  /// A stored counter that differs from the counted value.
  case counter(name: String, kept: Int, counted: Int)
  /// A single value of the catalogue that is not there, such as the key of content versions.
  case missingValue(name: String)
  /// A list or adjustments of an asset, or a single value of the catalogue (`nil`), that can't be parsed.
  case unreadableValue(localIdentifier: String?, name: String)
  /// A record in the trash that names no picture or video, so that it can't be restored.
  case trashWithoutFile(localIdentifier: String)
  /// A file in the trash that no record names, so that it is neither listed nor removed.
  case trashFileWithoutRecord(path: [UInt8])
  /// A file that a record names is not in the trash.
  case trashFileMissing(path: [UInt8])
  /// The words of an asset in the search index differ from those in its properties.
  case searchWords(localIdentifier: String)
  case foreignKey(table: String, row: Int64?, parent: String)
  /// A message of SQLite or about a damaged log, or the name of an index or trigger with a damaged definition.
  case damaged(String)

  /// A stable name, for people and programs.
  package var kind: String {
    switch self {
    case .onlyOnDisk: "only-on-disk"
    case .onlyInCatalogue: "only-in-catalogue"
    case .changed: "changed"
    case .unreadableFolder: "unreadable-folder"
    case .mountMissing: "mount-missing"
    case .rowWithoutPath: "row-without-path"
    case .fileWithoutAsset: "file-without-asset"
    case .assetWithoutFile: "asset-without-file"
    case .counter: "counter"
    case .missingValue: "missing-value"
    case .unreadableValue: "unreadable-value"
    case .trashWithoutFile: "trash-without-file"
    case .trashFileWithoutRecord: "trash-file-without-record"
    case .trashFileMissing: "trash-file-missing"
    case .searchWords: "search-words"
    case .foreignKey: "foreign-key"
    case .damaged: "damaged"
    }
  }

  /// The kind, a space, and the subject, on one line whatever bytes a path has. See ``LibraryPath/escaped(_:)``.
  package var line: String {
    let about =
      switch self {
      case .onlyOnDisk(let path), .onlyInCatalogue(let path), .changed(let path), .mountMissing(let path),
        .fileWithoutAsset(let path), .trashFileWithoutRecord(let path), .trashFileMissing(let path),
        .unreadableFolder(let path, _):
        LibraryPath.escaped(path)
      case .rowWithoutPath(let row): "row \(row)"
      case .assetWithoutFile(let identifier), .trashWithoutFile(let identifier), .searchWords(let identifier):
        identifier
      case .missingValue(let name): name
      case .unreadableValue(let identifier, let name): identifier.map { "\($0) \(name)" } ?? name
      case .counter(let name, let kept, let counted): "\(name): \(kept) kept, \(counted) counted"
      case .foreignKey(let table, let row, let parent):
        "\(table) row \(row.map(String.init) ?? "?") names a row of \(parent) that is not there"
      case .damaged(let text): LibraryPath.escaped(Array(text.utf8))
      }
    return "\(kind) \(about)"
  }
}
