/// The names of all fields that photod reads (RFC 9110 §5.1). The parser classifies each field once, so later lookups
/// need no text search. Fields with other names are kept but not looked up.
package enum HeaderName: UInt8, Sendable, Hashable, CaseIterable {
  case other
  case accept, acceptEncoding, authorization, cacheControl, connection, contentLength, contentType, expect, forwarded
  case host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince, lastEventID, origin, priority, range
  case transferEncoding, via, cookie, contentDisposition, contentEncoding
  case accessControlRequestHeaders, accessControlRequestMethod, accessControlRequestPrivateNetwork
  case secFetchDest, secFetchMode, secFetchSite, xForwardedFor, xForwardedHost, xForwardedProto, xRealIP
  case uploadComplete, uploadLength, uploadOffset, traceparent, contentDigest, reprDigest

  /// The name in lower case.
  package var text: StaticString {
    switch self {
    case .other: ""
    case .accept: "accept"
    case .acceptEncoding: "accept-encoding"
    case .authorization: "authorization"
    case .cacheControl: "cache-control"
    case .connection: "connection"
    case .contentLength: "content-length"
    case .contentType: "content-type"
    case .expect: "expect"
    case .forwarded: "forwarded"
    case .host: "host"
    case .ifMatch: "if-match"
    case .ifModifiedSince: "if-modified-since"
    case .ifNoneMatch: "if-none-match"
    case .ifRange: "if-range"
    case .ifUnmodifiedSince: "if-unmodified-since"
    case .lastEventID: "last-event-id"
    case .origin: "origin"
    case .priority: "priority"
    case .range: "range"
    case .transferEncoding: "transfer-encoding"
    case .via: "via"
    case .cookie: "cookie"
    case .contentDisposition: "content-disposition"
    case .contentEncoding: "content-encoding"
    case .accessControlRequestHeaders: "access-control-request-headers"
    case .accessControlRequestMethod: "access-control-request-method"
    case .accessControlRequestPrivateNetwork: "access-control-request-private-network"
    case .secFetchDest: "sec-fetch-dest"
    case .secFetchMode: "sec-fetch-mode"
    case .secFetchSite: "sec-fetch-site"
    case .xForwardedFor: "x-forwarded-for"
    case .xForwardedHost: "x-forwarded-host"
    case .xForwardedProto: "x-forwarded-proto"
    case .xRealIP: "x-real-ip"
    case .uploadComplete: "upload-complete"
    case .uploadLength: "upload-length"
    case .uploadOffset: "upload-offset"
    case .traceparent: "traceparent"
    case .contentDigest: "content-digest"
    case .reprDigest: "repr-digest"
    }
  }

  /// Finds the name in a range of `bytes`, which must be token characters. Switches on the length first, so that most
  /// names cost one comparison.
  init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    func named(_ candidates: HeaderName...) -> HeaderName {
      candidates.first { $0.matches(bytes, from: range.lowerBound) } ?? .other
    }
    func one(_ name: HeaderName) -> HeaderName { name.matches(bytes, from: range.lowerBound) ? name : .other }
    switch range.count {
    case 3: self = one(.via)
    case 4: self = one(.host)
    case 5: self = one(.range)
    case 6:
      switch bytes[range.lowerBound] | 0x20 {
      case UInt8(ascii: "a"): self = one(.accept)
      case UInt8(ascii: "c"): self = one(.cookie)
      case UInt8(ascii: "e"): self = one(.expect)
      default: self = one(.origin)
      }
    case 8:
      switch bytes[range.lowerBound + 3] | 0x20 {
      case UInt8(ascii: "m"): self = one(.ifMatch)
      case UInt8(ascii: "r"): self = one(.ifRange)
      default: self = one(.priority)
      }
    case 9: self = bytes[range.lowerBound] | 0x20 == UInt8(ascii: "x") ? one(.xRealIP) : one(.forwarded)
    case 10: self = one(.connection)
    case 11: self = bytes[range.lowerBound] | 0x20 == UInt8(ascii: "t") ? one(.traceparent) : one(.reprDigest)
    case 12: self = one(.contentType)
    case 13:
      switch bytes[range.lowerBound] | 0x20 {
      case UInt8(ascii: "i"): self = one(.ifNoneMatch)
      case UInt8(ascii: "c"): self = one(.cacheControl)
      case UInt8(ascii: "l"): self = one(.lastEventID)
      case UInt8(ascii: "u"): self = named(.uploadOffset, .uploadLength)
      default: self = one(.authorization)
      }
    case 14:
      switch bytes[range.upperBound - 2] | 0x20 {
      case UInt8(ascii: "s"):
        self = bytes[range.lowerBound] | 0x20 == UInt8(ascii: "c") ? one(.contentDigest) : one(.secFetchDest)
      case UInt8(ascii: "d"): self = one(.secFetchMode)
      case UInt8(ascii: "t"): self = named(.secFetchSite, .contentLength)
      default: self = .other
      }
    case 15:
      switch bytes[range.lowerBound] | 0x20 {
      case UInt8(ascii: "x"): self = one(.xForwardedFor)
      case UInt8(ascii: "u"): self = one(.uploadComplete)
      default: self = one(.acceptEncoding)
      }
    case 16: self = bytes[range.lowerBound] | 0x20 == UInt8(ascii: "x") ? one(.xForwardedHost) : one(.contentEncoding)
    case 17:
      switch bytes[range.lowerBound] | 0x20 {
      case UInt8(ascii: "i"): self = one(.ifModifiedSince)
      case UInt8(ascii: "t"): self = one(.transferEncoding)
      default: self = one(.xForwardedProto)
      }
    case 19:
      self = bytes[range.lowerBound] | 0x20 == UInt8(ascii: "c") ? one(.contentDisposition) : one(.ifUnmodifiedSince)
    case 29...38:
      self = named(.accessControlRequestMethod, .accessControlRequestHeaders, .accessControlRequestPrivateNetwork)
      if range.count != text.utf8CodeUnitCount { self = .other }
    default: self = .other
    }
  }

  /// Compares without regard to case. The case of a letter is its bit 5, and setting that bit turns no other token
  /// character into a character of these names.
  private func matches(_ bytes: Span<UInt8>, from start: Int) -> Bool {
    let text = text
    guard start + text.utf8CodeUnitCount <= bytes.count else { return false }
    let own = text.utf8Start
    for i in 0..<text.utf8CodeUnitCount where bytes[start + i] | 0x20 != own[i] { return false }
    return true
  }
}

/// A set of field names, as one machine word.
package struct HeaderNames: OptionSet, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
  package init(_ names: HeaderName...) { rawValue = names.reduce(0) { $0 | 1 << UInt64($1.rawValue) } }

  func contains(_ name: HeaderName) -> Bool { rawValue >> UInt64(name.rawValue) & 1 != 0 }
  mutating func insert(_ name: HeaderName) { self = HeaderNames(rawValue: rawValue | 1 << UInt64(name.rawValue)) }
}
