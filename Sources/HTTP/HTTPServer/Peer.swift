#if canImport(Glibc)
  import Glibc
#endif

/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) is stored as the IPv4 address.
package struct IPAddress: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64
  let isIPv4: Bool

  private init(high: UInt64, low: UInt64, isIPv4: Bool) {
    self.high = high
    self.low = low
    self.isIPv4 = isIPv4
  }

  private init(_ bytes: in6_addr) {
    let words = withUnsafeBytes(of: bytes) {
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    let isMapped = words.0 == 0 && words.1 >> 32 == 0xFFFF
    self.init(high: words.0, low: isMapped ? words.1 & 0xFFFF_FFFF : words.1, isIPv4: isMapped)
  }

  private init(_ bytes: in_addr) {
    self.init(high: 0, low: UInt64(UInt32(bigEndian: bytes.s_addr)), isIPv4: true)
  }

  /// Parses an address without brackets. A zone is not accepted.
  package init?(_ text: String) {
    var (v4, v6) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, text, &v4) == 1 {
      self.init(v4)
    } else if inet_pton(AF_INET6, text, &v6) == 1 {
      self.init(v6)
    } else {
      return nil
    }
  }

  init?(_ storage: inout sockaddr_storage) {
    switch Int32(storage.ss_family) {
    case AF_INET:
      self.init(withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in.self).sin_addr })
    case AF_INET6:
      self.init(withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in6.self).sin6_addr })
    default: return nil
    }
  }

  /// 127.0.0.0/8 or ::1.
  var isLoopback: Bool { isIPv4 ? low >> 24 == 127 : high == 0 && low == 1 }

  /// The network that limits per client apply to: an IPv4 address, or the first 64 bits of an IPv6 address, because one
  /// subscriber usually owns the whole /64.
  package var clientNetwork: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0, isIPv4: false) }

  /// Whether the first `length` bits are equal.
  func hasCommonPrefix(of length: Int, with other: IPAddress) -> Bool {
    guard isIPv4 == other.isIPv4 else { return false }
    func differ(_ difference: UInt64, _ width: Int, _ length: Int) -> Bool {
      length > 0 && difference >> UInt64(width - min(length, width)) != 0
    }
    if isIPv4 { return !differ(low ^ other.low, 32, length) }
    return !differ(high ^ other.high, 64, length) && !differ(low ^ other.low, 64, length - 64)
  }

  var text: String {
    if isIPv4 { return [24, 16, 8, 0].map { String(low >> $0 & 255) }.joined(separator: ".") }
    var address = in6_addr()
    withUnsafeMutableBytes(of: &address) {
      $0.storeBytes(of: high.bigEndian, as: UInt64.self)
      $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      guard inet_ntop(AF_INET6, &address, text.baseAddress, socklen_t(text.count)) != nil, let name = text.baseAddress
      else { return "" }
      return String(cString: name)
    }
  }
}

/// The client of a connection.
package enum Peer: Sendable, Hashable {
  /// A socket file, which counts as local.
  case unix
  case address(IPAddress)

  /// The peer address that `accept` returned.
  init(_ storage: inout sockaddr_storage) {
    self = IPAddress(&storage).map(Peer.address) ?? .unix
  }

  package var isLoopback: Bool {
    switch self {
    case .unix: true
    case .address(let address): address.isLoopback
    }
  }

  /// The peer as written to logs.
  package var text: String {
    switch self {
    case .unix: "unix"
    case .address(let address): address.text
    }
  }
}

/// A list of peers from the settings: an address, a network such as `10.0.0.0/8`, or `unix` for every socket file.
package struct PeerSet: Sendable, Hashable {
  private var networks: [Network] = []
  private var includesUnixSockets = false

  private struct Network: Hashable {
    let address: IPAddress
    let length: Int
  }

  /// - Throws: ``MalformedPeer`` for the first malformed text.
  package init(_ texts: [String]) throws(MalformedPeer) {
    for text in texts {
      if text == "unix" {
        includesUnixSockets = true
        continue
      }
      let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let address = IPAddress(String(parts[0])) else { throw MalformedPeer(text: text) }
      let width = address.isIPv4 ? 32 : 128
      guard let length = parts.count == 2 ? Int(parts[1]) : width, (0...width).contains(length) else {
        throw MalformedPeer(text: text)
      }
      networks.append(Network(address: address, length: length))
    }
  }

  package var isEmpty: Bool { networks.isEmpty && !includesUnixSockets }

  package func contains(_ peer: Peer) -> Bool {
    switch peer {
    case .unix: includesUnixSockets
    case .address(let address): networks.contains { address.hasCommonPrefix(of: $0.length, with: $0.address) }
    }
  }
}

/// A text that does not describe a peer.
package struct MalformedPeer: Error, Sendable, CustomStringConvertible {
  let text: String
  package var description: String { "\(text) is not an IP address, a network such as 10.0.0.0/8, or unix" }
}
