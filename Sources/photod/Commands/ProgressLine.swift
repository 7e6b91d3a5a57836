/// How far something has come, in one line of at most so many columns: a bar, percent, files, rate and time left, as
/// far as they are known and there is room.
struct ProgressLine {
  private static let widestBar = 40
  private static let narrowestBar = 8

  let files: Int
  let expected: Int?
  let filesPerSecond: Double?

  /// - Parameter widestBar: columns that a bar may take at most; 0: none.
  func text(width: Int, bar widestBar: Int = Self.widestBar) -> String {
    let rate = filesPerSecond.map { "\(Self.grouped(Int($0.rounded())))/s" }
    guard let expected, expected > 0 else {
      return Self.first(of: [["\(Self.grouped(files)) files", rate], ["\(Self.grouped(files)) files"]], within: width)
    }
    // More than were expected: new ones are all that is known of them.
    let share = min(Double(files) / Double(expected), 1)
    let percent = "\(Int(share * 100))%"
    let count = "\(Self.grouped(files)) of \(Self.grouped(max(expected, files))) files"
    var left: String?
    if let filesPerSecond, filesPerSecond >= 0.1, expected > files {
      left = "\(Self.time(Double(expected - files) / filesPerSecond)) left"
    }
    // What matters least goes first where there is little room.
    let choices = [[percent, count, rate, left], [percent, count, left], [percent, left], [percent]]
    if widestBar > 0 {
      if let text = Self.whole(choices, within: width - Self.narrowestBar - 3) {
        let room = min(width - text.count - 3, widestBar)
        let full = Int(share * Double(room))
        return "[" + String(repeating: "=", count: full) + String(repeating: " ", count: room - full) + "] " + text
      }
    }
    return Self.first(of: choices, within: width)
  }

  /// The first that fits.
  private static func whole(_ choices: [[String?]], within width: Int) -> String? {
    choices.lazy.map { $0.compactMap(\.self).joined(separator: "  ") }.first { $0.count <= width }
  }

  /// The first that fits; else the beginning of the last.
  private static func first(of choices: [[String?]], within width: Int) -> String {
    whole(choices, within: width) ?? String(choices.last?.first??.prefix(max(width, 0)) ?? "")
  }

  /// 1234567 is 1,234,567.
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
