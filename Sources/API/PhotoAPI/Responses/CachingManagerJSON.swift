import ImageService

/// A caching manager as clients see it.
struct CachingManagerJSON: Encodable {
  private let status: CachingStatus

  init(_ status: CachingStatus) { self.status = status }

  private enum Key: String, CodingKey {
    case id, client, leaseSeconds, allowsCachingHighQualityImages, pinned, ready, pending, leftOut, bytes, prepared
    case used, wasted, cancelled, hitRate, window
  }

  private enum WindowKey: String, CodingKey { case start, end, ready, pending, leftOut, quality }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(status.id, forKey: .id)
    try object.encode(status.client, forKey: .client)
    try object.encode(status.lease.components.seconds, forKey: .leaseSeconds)
    try object.encode(status.allowsHighQuality, forKey: .allowsCachingHighQualityImages)
    for (key, value) in [
      (Key.pinned, status.pinned), (.ready, status.ready), (.pending, status.pending), (.leftOut, status.leftOut),
      (.bytes, status.bytes), (.prepared, status.counts.prepared), (.used, status.counts.used),
      (.wasted, status.counts.wasted), (.cancelled, status.counts.cancelled),
    ] { try object.encode(value, forKey: key) }
    // More than two digits would carry no information.
    try object.encode(status.counts.hitRate.map { ($0 * 100).rounded() / 100 }, forKey: .hitRate)
    guard let window = status.window else { return try object.encodeNil(forKey: .window) }
    var shown = object.nestedContainer(keyedBy: WindowKey.self, forKey: .window)
    try shown.encode(window.range.lowerBound, forKey: .start)
    try shown.encode(window.range.upperBound - 1, forKey: .end)
    try shown.encode(window.ready, forKey: .ready)
    try shown.encode(window.pending, forKey: .pending)
    try shown.encode(window.leftOut, forKey: .leftOut)
    try shown.encode(window.quality.rawValue, forKey: .quality)
  }
}
