import ObjectStores

/// The documents of stores: S3's list and error, and the manifest of a web server. The objects of a manifest are sorted
/// and differ, and the beginning of a list is no list.
enum StoreTarget {
  static func check(_ bytes: [UInt8]) {
    _ = S3ErrorCode.read(bytes)
    if let list = S3List(bytes) {
      precondition(!list.isTruncated || list.token != nil)
      precondition(S3List(Array(bytes.prefix(bytes.count / 2))) == nil)
    }
    guard let page = try? Manifest.page(bytes) else { return }
    for (entry, next) in zip(page.entries, page.entries.dropFirst()) {
      precondition(entry.key < next.key, "\(entry.key), \(next.key)")
    }
    precondition(page.entries.allSatisfy { $0.identity.size >= 0 && !$0.key.isHidden })
  }
}
