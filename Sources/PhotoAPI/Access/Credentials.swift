// Where a request carries what it comes with: the Authorization field (RFC 6750 §2.1) and the cookie of a session. Never the
// query, which ends up in logs.

import HTTPCore

enum SessionCookie {
  static let name = "photod-session"

  /// The field that hands it out (RFC 6265 §4.1), to this site's own pages and to no script.
  static func field(_ secret: String, isSecure: Bool) -> String {
    "\(name)=\(secret); Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
  }

  /// The field that takes it back.
  static func end(isSecure: Bool) -> String { field("", isSecure: isSecure) + "; Max-Age=0" }
}

extension RequestHead {
  enum BearerField<Value> {
    case none
    /// Another scheme, which is nothing to us.
    case other
    /// Several fields, or none that a token can be taken from.
    case malformed
    case token(Value)
  }

  /// The bytes of a bearer token.
  func withBearer<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> BearerField<Value> {
    guard has(.authorization) else { return .none }
    return withOnlyValue(of: .authorization) { field in
      let scheme: StaticString = "bearer"
      let length = scheme.utf8CodeUnitCount
      guard field.count >= length,
        (0..<length).allSatisfy({ field[$0] | 0x20 == scheme.utf8Start[$0] }),
        field.count == length || field[length] == 0x20
      else { return .other }
      var start = length
      while start < field.count, field[start] == 0x20 { start += 1 }
      guard start < field.count else { return .malformed }
      return .token(body(UnsafeRawBufferPointer(rebasing: field[start...])))
    } ?? .malformed
  }

  /// The bytes of the session's cookie; `nil`: there is none.
  func withSession<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
    guard has(.cookie) else { return nil }
    return withOnlyValue(of: .cookie) { field -> Value? in
      let name: StaticString = "photod-session="
      let length = name.utf8CodeUnitCount
      var start = 0
      while start + length <= field.count {
        if (0..<length).allSatisfy({ field[start + $0] == name.utf8Start[$0] }) {
          var end = start + length
          while end < field.count, field[end] != UInt8(ascii: ";"), field[end] != 0x20 { end += 1 }
          return body(UnsafeRawBufferPointer(rebasing: field[(start + length)..<end]))
        }
        // To the next pair.
        while start < field.count, field[start] != UInt8(ascii: ";") { start += 1 }
        start += 1
        while start < field.count, field[start] == 0x20 { start += 1 }
      }
      return nil
    } ?? nil
  }

  /// Whether the page that asks, if one does, is not known to be another site's: `same-origin`, or `none` for what somebody
  /// typed (Fetch Metadata §2.1).
  var isFetchedByOwnPage: Bool {
    guard has(.secFetchSite) else { return true }
    return withOnlyValue(of: .secFetchSite) { $0.elementsEqual("same-origin".utf8) || $0.elementsEqual("none".utf8) }
      ?? false
  }
}
