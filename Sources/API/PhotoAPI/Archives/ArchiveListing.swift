import PhotoModel
import Primitives

/// The files of an archive in their order, as the catalogue knows them. A file takes about 130 bytes and its path, so a
/// listing of a whole library is small.
struct ArchiveListing: Sendable {
  private struct Item: Sendable {
    let pathEnd: Int
    let type: AssetResourceType
    /// The part of the file; a length of -1 means the whole file.
    let offset: Int64
    let length: Int
    let identity: FileIdentity
    let fingerprint: FileFingerprint?
    let changeTimeNanoseconds: Int64
    let date: Timestamp
    /// Minutes east of UTC.
    let utcOffset: Int16
    let isFirstOfAsset: Bool
  }

  /// The memory of the listing and of its plan. Released when neither exists any longer.
  let reservation: ByteBudget.Reservation
  private var paths: [UInt8] = []
  private var items: [Item] = []

  init(reservation: ByteBudget.Reservation) { self.reservation = reservation }

  var count: Int { items.count }

  /// The memory that it takes.
  var bytes: Int { paths.count + items.count * MemoryLayout<Item>.stride }

  /// - Parameters:
  ///   - date: the creation date of the asset.
  ///   - utcOffset: minutes east of UTC.
  ///   - isFirstOfAsset: whether it is the first file of its asset.
  ///   - changeTimeNanoseconds: see ``changeTimeNanoseconds(_:)``.
  mutating func append(
    _ resource: AssetResource, date: Timestamp, utcOffset: Int, isFirstOfAsset: Bool, changeTimeNanoseconds: Int64 = 0
  ) {
    let file = resource.file
    paths += file.path
    items.append(
      Item(
        pathEnd: paths.count, type: resource.type, offset: resource.slice?.offset ?? 0,
        length: resource.slice?.length ?? -1, identity: file.identity, fingerprint: file.fingerprint,
        changeTimeNanoseconds: changeTimeNanoseconds, date: date, utcOffset: Int16(clamping: utcOffset),
        isFirstOfAsset: isFirstOfAsset))
  }

  func resource(_ index: Int) -> AssetResource {
    let item = items[index]
    let path = paths[(index == 0 ? 0 : items[index - 1].pathEnd)..<item.pathEnd]
    return AssetResource(
      type: item.type, isPrimary: false, uniformTypeIdentifier: nil,
      file: OriginalFile(path: Array(path), identity: item.identity, fingerprint: item.fingerprint),
      slice: item.length < 0 ? nil : ByteRange(offset: item.offset, length: item.length))
  }

  /// The ctime of the file when the archive was planned, from ``OriginalFiles/changeTimeNanoseconds(of:)``. 0: not
  /// known.
  func changeTimeNanoseconds(_ index: Int) -> Int64 { items[index].changeTimeNanoseconds }

  /// The indexes of the files of one asset.
  ///
  /// - Parameter first: the index of its first file.
  func filesOfAsset(from first: Int) -> Range<Int> {
    var end = first + 1
    while end < items.count, !items[end].isFirstOfAsset { end += 1 }
    return first..<end
  }

  func date(_ index: Int) -> Timestamp { items[index].date }

  func utcOffset(_ index: Int) -> Int { Int(items[index].utcOffset) }
}
