/// Formats the progress of a scan as one line of limited width: a bar, percent, files, rate and remaining time, as far
/// as these are known and fit.
struct ProgressLine {
  private static let maximumBarWidth = 40
  private static let minimumBarWidth = 8

  let files: Int
  let expected: Int?
  let filesPerSecond: Double?

  /// - Parameter maximumBarWidth: maximum width of the bar in columns; 0: no bar.
  func text(width: Int, bar maximumBarWidth: Int = Self.maximumBarWidth) -> String {
    let rate = filesPerSecond.map { "\(Self.grouped(Int($0.rounded())))/s" }
    guard let expected, expected > 0 else {
      return Self.first(of: [["\(Self.grouped(files)) files", rate], ["\(Self.grouped(files)) files"]], within: width)
    }
    // There may be more files than expected, if files were added.
    let share = min(Double(files) / Double(expected), 1)
    let percent = "\(Int(share * 100))%"
    let count = "\(Self.grouped(files)) of \(Self.grouped(max(expected, files))) files"
    var left: String?
    if let filesPerSecond, filesPerSecond >= 0.1, expected > files {
      left = "\(Self.time(Double(expected - files) / filesPerSecond)) left"
    }
    // With little room, the least important parts are left out first.
    let choices = [[percent, count, rate, left], [percent, count, left], [percent, left], [percent]]
    if maximumBarWidth > 0 {
      if let text = Self.firstFitting(choices, within: width - Self.minimumBarWidth - 3) {
        let room = min(width - text.count - 3, maximumBarWidth)
        let full = Int(share * Double(room))
        return "[" + String(repeating: "=", count: full) + String(repeating: " ", count: room - full) + "] " + text
      }
    }
    return Self.first(of: choices, within: width)
  }

  /// The first choice that fits.
  private static func firstFitting(_ choices: [[String?]], within width: Int) -> String? {
    choices.lazy.map { $0.compactMap(\.self).joined(separator: "  ") }.first { $0.count <= width }
  }

  /// The first choice that fits; otherwise the beginning of the last one.
  private static func first(of choices: [[String?]], within width: Int) -> String {
    firstFitting(choices, within: width) ?? String(choices.last?.first??.prefix(max(width, 0)) ?? "")
  }

  /// Groups digits: 1234567 becomes 1,234,567.
  private static func grouped(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number).reversed().enumerated() {
      if index > 0 && index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }

  private static func time(_ seconds: Double) -> String {
    let whole = Int(min(seconds, 359_999).rounded(.up))
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
  }
}
