import ObjectStores

/// The answers of a remote store: a list or an error of a bucket, or the manifest of a web server. A list must be
/// sorted, with keys that can be the path of a file, and the same the second time.
enum StoreTarget {
  static func check(_ bytes: [UInt8]) {
    bucket(bytes)
    manifest(bytes)
  }

  private static func bucket(_ bytes: [UInt8]) {
    let code = S3ErrorCode.read(bytes)
    precondition(code == S3ErrorCode.read(bytes), "another code the second time")
    guard let list = S3List(bytes) else { return }
    precondition(code == nil, "both a list and an error")
    precondition(!list.isTruncated || list.token != nil, "no way to the next page")
    precondition(S3List(bytes)?.entries.map(\.key) == list.entries.map(\.key), "another list the second time")
    for entry in list.entries { precondition(entry.key.count <= bytes.count, "a key out of nothing") }
  }

  private static func manifest(_ bytes: [UInt8]) {
    guard let page = try? Manifest.page(bytes) else { return }
    precondition(page.next == nil, "a manifest has one page")
    for (entry, following) in zip(page.entries, page.entries.dropFirst()) {
      precondition(entry.key < following.key, "not sorted, or twice")
    }
    for entry in page.entries {
      precondition(ObjectKey(entry.key.bytes) == entry.key && !entry.key.isHidden, "no key")
      precondition(entry.identity.size >= 0, "a negative size")
      guard case .entityTag(let tag) = entry.identity.version else { preconditionFailure("no entity tag") }
      let isSafe = tag.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
      precondition(isSafe && tag.utf8.count >= 3, "an entity tag that could break a header line")
    }
  }
}
