// Reads credentials from a request: the Authorization field (RFC 6750 §2.1) and the session cookie. Never from the
// query, because queries end up in logs.

import HTTPCore

enum SessionCookie {
  static let name = "photod-session"

  /// The `Set-Cookie` value of a new session (RFC 6265 §4.1). Scripts can't read it, and other sites' pages don't send
  /// it.
  static func field(_ secret: String, isSecure: Bool) -> String {
    "\(name)=\(secret); Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
  }

  /// The `Set-Cookie` value that deletes the cookie.
  static func expiredField(isSecure: Bool) -> String { field("", isSecure: isSecure) + "; Max-Age=0" }
}

extension RequestHead {
  enum BearerField<Value> {
    case none
    /// Another authentication scheme, which is ignored.
    case other
    /// Several fields, or a field without a token.
    case malformed
    case token(Value)
  }

  /// Calls `body` with the bytes of the bearer token.
  func withBearer<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> BearerField<Value> {
    guard has(.authorization) else { return .none }
    return withSingleValue(of: .authorization) { field in
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

  /// Calls `body` with the bytes of the session cookie. `nil`: there is no such cookie.
  func withSession<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
    guard has(.cookie) else { return nil }
    return withSingleValue(of: .cookie) { field -> Value? in
      let name: StaticString = "photod-session="
      let length = name.utf8CodeUnitCount
      var start = 0
      while start + length <= field.count {
        if (0..<length).allSatisfy({ field[start + $0] == name.utf8Start[$0] }) {
          var end = start + length
          while end < field.count, field[end] != UInt8(ascii: ";"), field[end] != 0x20 { end += 1 }
          return body(UnsafeRawBufferPointer(rebasing: field[(start + length)..<end]))
        }
        // Skip to the next cookie pair.
        while start < field.count, field[start] != UInt8(ascii: ";") { start += 1 }
        start += 1
        while start < field.count, field[start] == 0x20 { start += 1 }
      }
      return nil
    } ?? nil
  }

  /// Whether `Sec-Fetch-Site` is absent, `same-origin`, or `none` (an address that the user entered; Fetch Metadata
  /// §2.1).
  var isSameOriginFetch: Bool {
    guard has(.secFetchSite) else { return true }
    return withSingleValue(of: .secFetchSite) { $0.elementsEqual("same-origin".utf8) || $0.elementsEqual("none".utf8) }
      ?? false
  }
}
