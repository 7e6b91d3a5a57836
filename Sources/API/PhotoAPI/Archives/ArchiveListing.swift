import PhotoModel

/// The files of an archive in their order, as the catalogue knows them. A file takes about 100 bytes and its path, so a
/// listing of a whole library is small.
struct ArchiveListing: Sendable {
  private struct Item: Sendable {
    let pathEnd: Int
    let identity: FileIdentity
    let fingerprint: FileFingerprint?
    let date: Timestamp
    /// Minutes east of UTC.
    let utcOffset: Int16
  }

  private var paths: [UInt8] = []
  private var items: [Item] = []

  var count: Int { items.count }

  /// The memory that it takes.
  var bytes: Int { paths.count + items.count * MemoryLayout<Item>.stride }

  /// - Parameters:
  ///   - date: the creation date of the asset.
  ///   - utcOffset: minutes east of UTC.
  mutating func append(_ file: OriginalFile, date: Timestamp, utcOffset: Int) {
    paths += file.path
    items.append(
      Item(
        pathEnd: paths.count, identity: file.identity, fingerprint: file.fingerprint, date: date,
        utcOffset: Int16(clamping: utcOffset)))
  }

  func file(_ index: Int) -> OriginalFile {
    let path = paths[(index == 0 ? 0 : items[index - 1].pathEnd)..<items[index].pathEnd]
    return OriginalFile(path: Array(path), identity: items[index].identity, fingerprint: items[index].fingerprint)
  }

  func date(_ index: Int) -> Timestamp { items[index].date }

  func utcOffset(_ index: Int) -> Int { Int(items[index].utcOffset) }
}
