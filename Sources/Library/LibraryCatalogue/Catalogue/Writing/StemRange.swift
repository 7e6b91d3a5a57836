import Foundation
import GRDB

/// The paths that consist of a stem, a dot and an extension: those of the parts of one photograph, and of what a sidecar
/// describes. `IMG_1.000.jpg` begins with the stem `IMG_1.` too, but its stem is another one. SQLite filters such paths,
/// so that the limit of a query counts matches only.
enum StemRange {
  /// A condition for ``bounds(of:)``, which are the arguments 1 and 2: neither a dot nor a slash follows the first dot.
  static let condition = """
    file.path > ?1 AND file.path < ?2
      AND instr(substr(file.path, length(?1) + 1), x'2E') = 0
      AND instr(substr(file.path, length(?1) + 1), x'2F') = 0
    """

  /// The stem with a dot, and with the byte value after it, a slash.
  static func bounds(of stem: [UInt8]) -> StatementArguments {
    [Data(stem + [UInt8(ascii: ".")]), Data(stem + [UInt8(ascii: "/")])]
  }
}
