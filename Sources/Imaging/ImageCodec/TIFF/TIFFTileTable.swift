import PhotoModel

/// The positions of a page's tiles.
struct TIFFTileTable {
  static let byteCount = 2 * Window.byteCount

  private let page: TIFFPage
  private let source: any ByteSource
  private var offsets: Window
  private var lengths: Window?

  init(_ page: TIFFPage, _ source: any ByteSource, _ stop: StopFlag) {
    (self.page, self.source) = (page, source)
    offsets = Window(page.offsets, source, stop, isBigEndian: page.isBigEndian)
    lengths = page.lengths.map { Window($0, source, stop, isBigEndian: page.isBigEndian) }
  }

  var readTime: Duration { offsets.readTime + (lengths?.readTime ?? .zero) }

  /// The bytes of a tile, at least one.
  ///
  /// - Parameter storedBytes: the length of the tile's rows without compression.
  mutating func range(of tile: Int, storedBytes: Int) throws(CodecError) -> ByteRange {
    let offset = try offsets.number(tile)
    var length = 0
    // Uncompressed rows have a known length, so the stated length is ignored. Old writers state none at all.
    if page.compression == .none {
      length = storedBytes
    } else if let stated = try lengths?.number(tile) {
      length = stated
    }
    guard offset > 0 else {
      throw .malformed("a strip or tile without a position", offset: page.offsets.range.offset)
    }
    guard Int64(offset) < source.size else { throw .truncated(offset: source.size) }
    let rest = Int(clamping: source.size - Int64(offset))
    return ByteRange(offset: Int64(offset), length: length > 0 ? min(length, rest) : rest)
  }

  /// The numbers of one table, read some at a time: it may have a million.
  private struct Window {
    private static let entries = 1024
    static let byteCount = entries * 8

    private let table: TIFFPage.Table
    private let cursor: SourceCursor
    private let isBigEndian: Bool
    /// The numbers that are held, as stored, and which ones.
    private var bytes: [UInt8] = []
    private var range = 0..<0

    init(_ table: TIFFPage.Table, _ source: any ByteSource, _ stop: StopFlag, isBigEndian: Bool) {
      (self.table, self.isBigEndian) = (table, isBigEndian)
      cursor = SourceCursor(source: source, range: table.range, stop: stop)
    }

    var readTime: Duration { cursor.readTime }

    /// A number of the table.
    mutating func number(_ i: Int) throws(CodecError) -> Int {
      let size = table.entryBytes
      if !range.contains(i) {
        let count = min(Self.entries, table.range.length / size - i)
        bytes = try cursor.bytes(at: table.range.offset + Int64(i * size), count: count * size)
        range = i..<i + count
      }
      let entry = bytes.dropFirst((i - range.lowerBound) * size)
      let number = isBigEndian ? entry.bigEndian(at: 0, bytes: size) : entry.littleEndian(at: 0, bytes: size)
      return number < 0 ? .max : number
    }
  }
}
