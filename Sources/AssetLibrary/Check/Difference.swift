/// One thing in which a catalogue and its library, or a catalogue and itself, differ.
package enum Difference: Sendable, Hashable {
  /// A file that the catalogue does not know.
  case onlyOnDisk(path: [UInt8])
  /// A file that the catalogue knows and that is not there.
  case onlyInCatalogue(path: [UInt8])
  /// A file that is another than the catalogue knows, by its inode, size or time.
  case changed(path: [UInt8])
  /// A folder that can't be listed; nothing below it was compared.
  case unreadableFolder(path: [UInt8], reason: String)
  /// A file system below the root that is not here; nothing below it was compared.
  case diskNotHere(path: [UInt8])
  /// A known file whose name another one has taken.
  case withoutPath(row: Int64)
  /// A file that is neither an asset's nor said not to be one.
  case fileWithoutAsset(path: [UInt8])
  case assetWithoutFile(localIdentifier: String)
  /// A number that is kept so that nobody has to count.
  case counter(name: String, kept: Int, counted: Int)
  case foreignKey(table: String, row: Int64?, parent: String)
  /// SQLite's own words.
  case damaged(String)

  /// One word for people and programs.
  package var kind: String {
    switch self {
    case .onlyOnDisk: "only-on-disk"
    case .onlyInCatalogue: "only-in-catalogue"
    case .changed: "changed"
    case .unreadableFolder: "unreadable-folder"
    case .diskNotHere: "disk-not-here"
    case .withoutPath: "without-path"
    case .fileWithoutAsset: "file-without-asset"
    case .assetWithoutFile: "asset-without-file"
    case .counter: "counter"
    case .foreignKey: "foreign-key"
    case .damaged: "damaged"
    }
  }

  /// The kind, a space, and what it is about: one line, whatever is in a name. See ``escapedPath(_:)``.
  package var line: String {
    let about =
      switch self {
      case .onlyOnDisk(let path), .onlyInCatalogue(let path), .changed(let path), .diskNotHere(let path),
        .fileWithoutAsset(let path), .unreadableFolder(let path, _):
        escapedPath(path)
      case .withoutPath(let row): "row \(row)"
      case .assetWithoutFile(let identifier): identifier
      case .counter(let name, let kept, let counted): "\(name): \(kept) kept, \(counted) counted"
      case .foreignKey(let table, let row, let parent):
        "\(table) row \(row.map(String.init) ?? "?") names a row of \(parent) that is not there"
      case .damaged(let text): escapedPath(Array(text.utf8))
      }
    return "\(kind) \(about)"
  }
}
