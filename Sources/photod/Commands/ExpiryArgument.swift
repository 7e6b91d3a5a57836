import ArgumentParser
import PhotoModel

/// An expiry time on the command line: `90d`, `2026-12-31T00:00:00Z`, or `never`.
struct ExpiryArgument: ExpressibleByArgument, Sendable {
  private enum Kind: Sendable {
    case never
    case after(Int64)
    case at(Int64)
  }

  private let kind: Kind

  /// One day from now, or less.
  static func oneDay(atMost seconds: Int64) -> ExpiryArgument { ExpiryArgument(kind: .after(min(86_400, seconds))) }

  private init(kind: Kind) { self.kind = kind }

  private static let units: [Character: Int64] = [
    "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400,
  ]

  init?(argument: String) {
    if argument == "never" {
      kind = .never
    } else if let unit = argument.last.flatMap({ Self.units[$0] }), let count = Int64(argument.dropLast()),
      (1...1_000_000).contains(count)
    {
      kind = .after(count * unit)
    } else if let time = try? Timestamp(rfc3339: argument) {
      kind = .at(time.milliseconds / 1000)
    } else {
      return nil
    }
  }

  /// The expiry in seconds since 1970; `nil`: never.
  func end(from now: Int64) -> Int64? {
    switch kind {
    case .never: nil
    case .after(let seconds): now + seconds
    case .at(let time): time
    }
  }
}
