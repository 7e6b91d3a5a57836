// The stored path of a row whose path another file has taken. It starts with a NUL, which no real path contains, and
// ends with the number of the row, so it is unique. In between is the path that the row lost, if the row may get it
// back: with a NUL for each slash, so that the whole is one name.

import Foundation

package enum VacantPath {
  private static let slash = UInt8(ascii: "/")

  /// Whether a stored path is vacant: another file has taken the real one.
  package static func isVacant(_ path: [UInt8]) -> Bool { path.first == 0 }

  /// The path of a row that lost a path and does not get it back.
  static func of(_ row: Int64) -> Data { Data([0]) + Data(String(row).utf8) }

  /// The path of a row that lost `former` and may get it back.
  static func of(_ row: Int64, former: [UInt8]) -> Data {
    Data([0] + named(former) + [0]) + Data(String(row).utf8)
  }

  /// The path that a row lost; `nil` if `path` is a real one, or names none.
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
