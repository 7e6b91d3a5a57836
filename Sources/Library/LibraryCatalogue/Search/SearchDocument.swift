// The words of an asset as one text, field after field. `search` indexes it, and conditions on single assets look for
// words in it.
//
//     " 2024 summer img 1234 jpg ⟨title⟩ a walk ⟨person⟩ ⟨n⟩ana ⟨camera⟩ canon eos r5 ⟨place⟩ ⟨p⟩lisbon ⟨album⟩ ⟨a⟩17 "
//
// The marks in brackets are characters of Unicode's private use area, which no word contains. A mark begins each field
// after the path, and each value of a field with several values, so that no phrase extends over two of them. Each word
// of a place or of a person's name begins with a mark, which makes it a different word. A search without the scope for
// these names does not look for words with the mark, so its results and timing don't depend on them. An album is
// represented by its row number, because its title may change.

import Foundation
import GRDB
import PhotoModel
import PhotoPredicate

struct SearchDocument {
  /// The fields after the path, by the mark that begins them.
  enum Field: UInt8, CaseIterable {
    case name, title, caption, keyword, person, camera, lens, place, album

    var mark: [UInt8] { [0xEE, 0x80, 0x90 + rawValue] }
  }

  /// U+E001 to U+E003: the first character of each word of a place, of an album's number, and of each word of a name.
  static let placeMark = "\u{E001}"
  static let albumMark = "\u{E002}"
  static let nameMark = "\u{E003}"
  /// Greater than every word that begins with a mark.
  static let endOfMarks = "\u{E004}"
  /// The mark that no document contains.
  static let unusedMark = "\u{E000}"
  /// The maximum number of bytes of one text that are indexed. No setting allows longer texts.
  private static let maximumBytes = ChangeLimits.maximumTextBytes

  private var bytes: [UInt8] = [UInt8(ascii: " ")]

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The columns that the initializer reads, in this order.
  static let columns = """
    asset.originalFilename, asset.title, asset.caption, asset.keywords, asset.people, asset.cameraMake,
    asset.cameraModel, asset.lensModel, asset.placeCity, asset.placeRegion, asset.placeCountry, file.path
    """

  /// - Parameters:
  ///   - first: the position of the first column in the row.
  ///   - albums: the row numbers of the albums that contain the asset.
  init(_ row: Row, from first: Int, albums: [Int64]) throws {
    let path = try row.withUnsafeData(atIndex: first + 11) { $0.map { String(decoding: $0, as: UTF8.self) } ?? "" }
    bytes.reserveCapacity(path.utf8.count + 64)
    // A path that begins with a NUL is vacant (`VacantPath`).
    if !path.utf8.starts(with: [0]) { SearchText.append(path, to: &bytes) }
    let name: String = row[first]
    if !Self.ends(path.utf8, withName: name.utf8) { append(.name, name) }
    append(.title, row[first + 1] as String?)
    append(.caption, row[first + 2] as String?)
    for keyword in TextList.readableStrings(row[first + 3]) { append(.keyword, keyword) }
    for person in TextList.readableStrings(row[first + 4]) { append(.person, person, mark: Array(Self.nameMark.utf8)) }
    let (make, model): (String?, String?) = (row[first + 5], row[first + 6])
    if make != nil || model != nil { append(.camera, "\(make ?? "") \(model ?? "")") }
    append(.lens, row[first + 7] as String?)
    for place in 8...10 { append(.place, row[first + place] as String?, mark: Array(Self.placeMark.utf8)) }
    for album in albums {
      bytes += Field.album.mark + [UInt8(ascii: " ")]
      bytes += Array("\(Self.albumMark)\(album) ".utf8)
    }
  }

  /// Whether the last component of a path is this name. Always true unless another program wrote the catalogue.
  private static func ends(_ path: String.UTF8View, withName name: String.UTF8View) -> Bool {
    guard path.count >= name.count, path.suffix(name.count).elementsEqual(name) else { return false }
    return path.count == name.count || path.dropLast(name.count).last == UInt8(ascii: "/")
  }

  private mutating func append(_ field: Field, _ text: String?, mark: [UInt8] = []) {
    guard let text, !text.isEmpty else { return }
    let before = bytes.count
    bytes += field.mark
    bytes.append(UInt8(ascii: " "))
    let begin = bytes.count
    let isShort = text.utf8.count <= Self.maximumBytes
    SearchText.append(
      isShort ? text : String(decoding: text.utf8.prefix(Self.maximumBytes), as: UTF8.self), mark: mark, to: &bytes)
    if bytes.count == begin { bytes.removeSubrange(before...) }
  }

  // MARK: Numbers

  /// The upper half of a document's number, which depends on the date: see `CatalogueSchema.document`.
  static func period(_ date: Int64) -> Int64 { ~Int64(Int32(clamping: date >> 12)) }

  /// The first and the last document number of a period.
  static func range(_ period: Int64) -> ClosedRange<Int64> { period << 32...(period << 32 | 0xFFFF_FFFF) }
}
