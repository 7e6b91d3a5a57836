import Foundation

/// Prints a Markdown table on standard output, row by row.
struct Table {
  /// - Parameter labels: the number of leading columns with words; the others have numbers.
  init(_ columns: [String], labels: Int) {
    row(columns)
    row(columns.indices.map { $0 < labels ? "---" : "---:" })
  }

  func row(_ cells: [String]) {
    print("| \(cells.joined(separator: " | ")) |")
    fflush(nil)
  }
}

extension Double {
  /// A dash if the value is not finite, such as a difference of two infinities.
  func text(_ digits: Int = 2) -> String { isFinite ? String(format: "%.\(digits)f", self) : "–" }
}

extension Double? {
  /// A dash for `nil`.
  func text(_ digits: Int = 2) -> String { self?.text(digits) ?? "–" }

  static func / (left: Double?, right: Double?) -> Double? {
    guard let left, let right else { return nil }
    return left / right
  }
}

extension [Double] {
  /// `nil` of none.
  var median: Double? {
    if isEmpty { return nil }
    let values = sorted()
    return (values[(count - 1) / 2] + values[count / 2]) / 2
  }

  /// The smallest value that `percent` percent of the values do not exceed; `nil` if empty. With fewer than a hundred
  /// values the 99th percentile is the largest.
  func percentile(_ percent: Double) -> Double? {
    if isEmpty { return nil }
    return sorted()[Swift.min(Swift.max(Int((Double(count) * percent / 100).rounded(.up)), 1), count) - 1]
  }
}

extension Int {
  var mebibytes: Double { Double(self) / 1_048_576 }
}
