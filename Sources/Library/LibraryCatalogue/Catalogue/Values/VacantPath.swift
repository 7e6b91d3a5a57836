// The stored path of a row whose real path another file has taken. It starts with a NUL, which no real path contains,
// and ends with the number of the row, so it is unique. If the row may get its path back, that path is in between, with
// a NUL in place of each slash, so that the vacant path is below no folder.

import Foundation

package enum VacantPath {
  private static let slash = UInt8(ascii: "/")

  /// Whether a stored path is vacant: another file has taken the real one.
  package static func isVacant(_ path: [UInt8]) -> Bool { path.first == 0 }

  /// The vacant path of a row that does not get its former path back.
  static func of(_ row: Int64) -> Data { Data([0]) + Data(String(row).utf8) }

  /// The vacant path of a row that lost `former` and may get it back.
  static func of(_ row: Int64, former: [UInt8]) -> Data {
    Data([0] + named(former) + [0]) + Data(String(row).utf8)
  }

  /// The path that a row lost and may get back; `nil` if `path` is a real path, or a vacant one without a former path.
  static func former(_ path: [UInt8]) -> [UInt8]? {
    guard isVacant(path), let end = path.lastIndex(of: 0), end > 1 else { return nil }
    return path[1..<end].map { $0 == 0 ? slash : $0 }
  }

  /// The bounds, both excluded, of the stored paths of rows that lost `former`.
  static func bounds(former: [UInt8]) -> (lower: Data, upper: Data) {
    (Data([0] + named(former) + [0]), Data([0] + named(former) + [0, UInt8(ascii: ":")]))
  }

  private static func named(_ path: [UInt8]) -> [UInt8] { path.map { $0 == slash ? 0 : $0 } }
}
