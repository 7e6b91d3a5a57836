// Which addresses are of the public Internet. A store's name may resolve to any address; without this check a name in
// the settings, or an attacker who controls its answers, could make photod ask services of the machine or of the
// private network, such as a cloud's metadata service at 169.254.169.254.

#if canImport(Glibc)
  import Glibc
#endif

/// An IP address: 4 or 16 bytes.
struct NetworkAddress: Sendable, Hashable {
  let bytes: [UInt8]

  init?(_ bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// An address in its usual text form.
  init?(_ text: String) {
    var four = in_addr()
    var sixteen = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
      bytes = withUnsafeBytes(of: &sixteen) { Array($0) }
    } else {
      return nil
    }
  }

  /// The address of a socket address; `nil` for other families.
  init?(_ address: UnsafePointer<sockaddr>) {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      bytes = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
        withUnsafeBytes(of: address.pointee.sin_addr) { Array($0) }
      }
    case AF_INET6:
      bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
        withUnsafeBytes(of: address.pointee.sin6_addr) { Array($0) }
      }
    default: return nil
    }
  }

  /// Whether the address is of the public Internet: in none of the blocks that the registries of special-purpose
  /// addresses (RFC 6890, IANA) do not call globally reachable.
  var isPublic: Bool {
    if bytes.count == 4 { return !Self.specialIPv4.contains { $0.contains(bytes[...]) } }
    // Only 2000::/3 is in use. For NAT64 (64:ff9b::/96) and mapped addresses (::ffff:0:0/96), the embedded IPv4 address
    // decides.
    let inside = Self.embeddedIPv4.first { $0.contains(bytes[...]) }
    if inside != nil { return NetworkAddress(Array(bytes[12...]))?.isPublic ?? false }
    // 6to4 has the IPv4 address after its first two bytes.
    if bytes[0] == 0x20, bytes[1] == 0x02 { return NetworkAddress(Array(bytes[2..<6]))?.isPublic ?? false }
    return bytes[0] & 0xE0 == 0x20 && !Self.specialIPv6.contains { $0.contains(bytes[...]) }
  }

  private struct Block: Sendable {
    let prefix: [UInt8]
    let bits: Int

    init(_ prefix: [UInt8], _ bits: Int) { (self.prefix, self.bits) = (prefix, bits) }

    func contains(_ address: ArraySlice<UInt8>) -> Bool {
      for bit in 0..<bits {
        let byte = bit / 8 < prefix.count ? prefix[bit / 8] : 0
        if (byte ^ address[address.startIndex + bit / 8]) & (0x80 >> UInt8(bit % 8)) != 0 { return false }
      }
      return true
    }
  }

  private static let specialIPv4: [Block] = [
    Block([0], 8),  // This network
    Block([10], 8),  // Private
    Block([100, 64], 10),  // Shared by providers (RFC 6598)
    Block([127], 8),  // Loopback
    Block([169, 254], 16),  // Link-local
    Block([172, 16], 12),  // Private
    Block([192, 0, 0], 24),  // Protocol assignments
    Block([192, 0, 2], 24),  // Documentation
    Block([192, 88, 99], 24),  // 6to4 relays, retired
    Block([192, 168], 16),  // Private
    Block([198, 18], 15),  // Benchmarks
    Block([198, 51, 100], 24),  // Documentation
    Block([203, 0, 113], 24),  // Documentation
    Block([224], 4),  // Multicast
    Block([240], 4),  // Reserved, and broadcast
  ]

  private static let specialIPv6: [Block] = [
    Block([0x20, 0x01, 0x00], 23),  // Protocol assignments, Teredo among them
    Block([0x20, 0x01, 0x0D, 0xB8], 32),  // Documentation
    Block([0x3F, 0xFF, 0x00], 20),  // Documentation (RFC 9637)
  ]

  private static let embeddedIPv4: [Block] = [
    Block([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96),
    Block([0x00, 0x64, 0xFF, 0x9B], 96),
  ]
}
