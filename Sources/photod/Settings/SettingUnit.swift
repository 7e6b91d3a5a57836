/// The unit of a number in the settings.
enum SettingUnit: Sendable {
  case count, bytes, bytesPerSecond, seconds, milliseconds, days, percent, pixels

  /// The unit of the number in the settings file. `nil` for a plain count.
  var name: String? {
    switch self {
    case .count: nil
    case .bytes: "bytes"
    case .bytesPerSecond: "bytes per second"
    case .seconds: "seconds"
    case .milliseconds: "milliseconds"
    case .days: "days"
    case .percent: "percent"
    case .pixels: "pixels"
    }
  }

  /// A number for people: 134217728 bytes are "128 MiB", and 604800 seconds are "7 days".
  func text(_ number: Int) -> String {
    guard number != 0 else { return "0" }
    switch self {
    case .count, .pixels: return String(number)
    case .bytes: return Self.bytes(number)
    case .bytesPerSecond: return Self.bytes(number) + "/s"
    case .seconds: return Self.time(number, [(31_536_000, "year"), (86_400, "day"), (3600, "hour")]) ?? "\(number) s"
    case .milliseconds: return Self.time(number, [(3_600_000, "hour")]) ?? "\(number) ms"
    case .days: return number == 1 ? "1 day" : "\(number) days"
    case .percent: return "\(number)%"
    }
  }

  private static func bytes(_ number: Int) -> String {
    for (shift, name) in [(50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
      if number.isMultiple(of: 1 << shift) { return "\(number >> shift) \(name)" }
    }
    return String(number)
  }

  /// In the first of these units that the number is a multiple of; `nil` if there is none.
  private static func time(_ number: Int, _ scales: [(size: Int, name: String)]) -> String? {
    guard let (size, name) = scales.first(where: { number.isMultiple(of: $0.size) }) else { return nil }
    return "\(number / size) \(name)\(number == size ? "" : "s")"
  }
}

// Key paths of the settings table end in these properties where a field is not an Int. Values outside of the type's
// range trap; the ranges in the table prevent that.

extension Duration {
  var wholeSeconds: Int {
    get { Int(components.seconds) }
    set { self = .seconds(newValue) }
  }

  var wholeMilliseconds: Int {
    get { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
    set { self = .milliseconds(newValue) }
  }
}

extension FixedWidthInteger {
  var asInt: Int {
    get { Int(self) }
    set { self = Self(newValue) }
  }
}
