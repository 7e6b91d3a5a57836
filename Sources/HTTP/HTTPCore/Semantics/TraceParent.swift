import Primitives

/// The position of a request in the trace of its caller: the field `traceparent` (W3C Trace Context, Level 1, §3.2).
///
/// photod records no spans. It writes the identifiers to its log, so that its lines can be matched with those of the
/// caller. A fixed number of bytes without references, so that records of the access log can contain it.
package struct TraceParent: Sendable, Hashable, BitwiseCopyable {
  /// The length of version 00: `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
  private static let byteCount = 55
  /// Longer fields of later versions are not accepted. The standard has no limit.
  private static let maximumByteCount = 256

  private let traceHigh: UInt64
  private let traceLow: UInt64
  private let parent: UInt64

  /// The trace of a request. `nil` if it has no such field, several (§3.2.2.5 takes them as invalid), or an invalid
  /// one; the request is then handled without a trace (§4.3).
  package init?(_ head: RequestHead) {
    guard let found = head.withSingleValue(of: .traceparent, { TraceParent($0) }) ?? nil else { return nil }
    self = found
  }

  /// Parses a value. Versions after 00 may have more members after the first four (§3.2.4).
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard (Self.byteCount...Self.maximumByteCount).contains(bytes.count),
      let version = Self.number(bytes, 0..<2), version != 0xFF,
      version == 0 ? bytes.count == Self.byteCount : bytes.count == Self.byteCount || bytes[55] == UInt8(ascii: "-"),
      [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
      let high = Self.number(bytes, 3..<19), let low = Self.number(bytes, 19..<35),
      let parent = Self.number(bytes, 36..<52), Self.number(bytes, 53..<55) != nil,
      // All zeros is invalid (§3.2.2.3, §3.2.2.4).
      high | low != 0, parent != 0
    else { return nil }
    traceHigh = high
    traceLow = low
    self.parent = parent
  }

  /// 32 lower-case hexadecimal digits.
  package var traceID: String { traceHigh.hexadecimal + traceLow.hexadecimal }

  /// The caller's span: 16 lower-case hexadecimal digits.
  package var parentID: String { parent.hexadecimal }

  /// The number of lower-case hexadecimal digits (§3.2.1), at most 16; `nil` if there is another character.
  private static func number(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> UInt64? {
    var number: UInt64 = 0
    for i in range {
      switch bytes[i] {
      case let byte where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
        number = number << 4 | UInt64(byte - UInt8(ascii: "0"))
      case let byte where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte):
        number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }
}
