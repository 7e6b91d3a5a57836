import Foundation
import GRDB

/// Selects the paths that consist of a given stem, a dot and an extension, such as those of the parts of one
/// photograph. `IMG_1.000.jpg` lies in the same range of paths as the stem `IMG_1`, but has another stem. The condition
/// excludes it in SQL, so that the limit of a query counts only matches.
enum StemRange {
  /// SQL condition with ``bounds(of:)`` as arguments 1 and 2: neither a dot nor a slash follows the dot after the stem.
  static let condition = """
    file.path > ?1 AND file.path < ?2
      AND instr(substr(file.path, length(?1) + 1), x'2E') = 0
      AND instr(substr(file.path, length(?1) + 1), x'2F') = 0
    """

  /// The stem with a dot, and the stem with a slash, which is the next byte value.
  static func bounds(of stem: [UInt8]) -> StatementArguments {
    [Data(stem + [UInt8(ascii: ".")]), Data(stem + [UInt8(ascii: "/")])]
  }
}
