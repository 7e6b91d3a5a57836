import Foundation

/// A Markdown table on standard output, row by row as they are found.
struct Table {
  /// - Parameter labels: how many of the columns, from the left, are words; the others are numbers.
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
  /// A dash where there is no number to show, as between two infinities.
  func text(_ digits: Int = 2) -> String { isFinite ? String(format: "%.\(digits)f", self) : "–" }
}

extension Double? {
  /// A dash where there is none.
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

  /// The smallest of them that so many percent do not exceed; `nil` of none. Of fewer than a hundred the 99th is the largest.
  func percentile(_ percent: Double) -> Double? {
    if isEmpty { return nil }
    return sorted()[Swift.min(Swift.max(Int((Double(count) * percent / 100).rounded(.up)), 1), count) - 1]
  }

  /// `nil` of none.
  var mean: Double? { isEmpty ? nil : reduce(0, +) / Double(count) }
}

extension Int {
  var mebibytes: Double { Double(self) / 1_048_576 }
}
