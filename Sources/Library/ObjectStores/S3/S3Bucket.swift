/// Where a bucket is, and how its address is written.
package struct S3Bucket: Sendable, Hashable {
  let name: String
  /// The part of the keys that all objects of the store share, without slashes at its ends; may be empty.
  let prefix: String
  let region: String
  /// The address of the bucket, without the prefix.
  let address: RemoteAddress

  /// `nil` if the name, the prefix or the endpoint is not valid.
  ///
  /// - Parameters:
  ///   - endpoint: `http[s]://host[:port]`; `nil`: Amazon's for the region.
  ///   - usesPathStyle: `https://endpoint/bucket/key` instead of `https://bucket.endpoint/key`.
  package init?(name: String, prefix: String = "", region: String, endpoint: String? = nil, usesPathStyle: Bool) {
    // Checks only the rules of bucket names that keep the address valid.
    let isName = name.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
    let isRegion = region.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "-")
    }
    let trimmed = prefix.split(separator: "/").joined(separator: "/")
    guard isName, (3...63).contains(name.utf8.count), name.first != ".", name.last != ".", !region.isEmpty, isRegion,
      trimmed.isEmpty || ObjectKey(trimmed) != nil,
      var address = RemoteAddress(endpoint ?? "https://s3.\(region).amazonaws.com")
    else { return nil }
    if address.path.hasSuffix("/") { address.path.removeLast() }
    if usesPathStyle {
      address.path += "/" + name
    } else {
      // An IP address has no subdomains.
      guard NetworkAddress(address.host) == nil else { return nil }
      address.host = "\(name).\(address.host)"
    }
    (self.name, self.prefix, self.region, self.address) = (name, trimmed, region, address)
  }

  /// The host that requests go to.
  package var host: String { address.host }

  /// The key in the bucket. `nil` if it is not UTF-8, which S3 requires, or too long with the prefix.
  func key(_ key: ObjectKey) -> String? {
    guard let text = key.text else { return nil }
    let whole = prefix.isEmpty ? text : "\(prefix)/\(text)"
    return whole.utf8.count <= ObjectKey.maximumBytes ? whole : nil
  }

  /// The key below the prefix; `nil` if it is not a key of this store.
  func key(inBucket bytes: [UInt8]) -> ObjectKey? {
    if prefix.isEmpty { return ObjectKey(bytes) }
    let start = Array("\(prefix)/".utf8)
    guard bytes.starts(with: start) else { return nil }
    return ObjectKey(Array(bytes.dropFirst(start.count)))
  }
}
