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

  /// Finds the name in a range of `bytes`, which must be token characters. Compares with the names of its length only.
  init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    func named(_ candidates: HeaderName...) -> HeaderName {
      for name in candidates where name.matches(bytes, from: range.lowerBound) { return name }
      return .other
    }
    switch range.count {
    case 3: self = named(.via)
    case 4: self = named(.host)
    case 5: self = named(.range)
    case 6: self = named(.accept, .expect, .origin, .cookie)
    case 8: self = named(.ifMatch, .ifRange, .priority)
    case 9: self = named(.forwarded, .xRealIP)
    case 10: self = named(.connection)
    case 11: self = named(.traceparent, .reprDigest)
    case 12: self = named(.contentType)
    case 13: self = named(.authorization, .cacheControl, .ifNoneMatch, .lastEventID, .uploadLength, .uploadOffset)
    case 14: self = named(.contentLength, .secFetchDest, .secFetchMode, .secFetchSite, .contentDigest)
    case 15: self = named(.acceptEncoding, .xForwardedFor, .uploadComplete)
    case 16: self = named(.contentEncoding, .xForwardedHost)
    case 17: self = named(.ifModifiedSince, .transferEncoding, .xForwardedProto)
    case 19: self = named(.ifUnmodifiedSince, .contentDisposition)
    case 29: self = named(.accessControlRequestMethod)
    case 30: self = named(.accessControlRequestHeaders)
    case 38: self = named(.accessControlRequestPrivateNetwork)
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
