import CZlib

/// The gzip content coding (RFC 9110 §8.4.1.3), and whether a client wants it (§12.5.3).
package enum ContentCoding: Sendable, Hashable {
  case identity, gzip

  /// The better of the two by an `Accept-Encoding` field. Gzip has to be asked for, by name or by `*`; between equals it
  /// is preferred.
  package init(acceptEncoding value: String?) {
    self = .identity
    guard let value else { return }
    var gzip: Int?
    var identity: Int?
    var others: Int?
    for element in Text.elements(of: value) {
      let parts = Text.elements(of: element, separatedBy: ";")
      guard let name = parts.first?.lowercased(), let quality = Accept.quality(inParameters: parts.dropFirst()) else {
        continue
      }
      switch name {
      case "gzip", "x-gzip": gzip = quality
      case "identity": identity = quality
      case "*": others = quality
      default: continue
      }
    }
    let wanted = gzip ?? others ?? 0
    if wanted > 0 && wanted >= identity ?? 0 { self = .gzip }
  }

  /// The entity tag of this coding of a representation with that strong tag: other bytes need another (§8.8.3.3).
  package func entityTag(_ tag: String) -> String {
    self == .gzip ? "\(tag.dropLast())-gzip\"" : tag
  }

  /// What is worth it: below this the head outweighs what is saved.
  package static let minimumBytes = 1024

  /// The bytes in gzip's format (RFC 1952), without name or time, so that equal bytes stay equal. Linear in their number.
  /// `nil` where there is no memory for it.
  package static func gzipped(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard photod_deflate_init_gzip(&stream, 5) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let capacity = Int(deflateBound(&stream, UInt(bytes.count)))
    return [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
      bytes.withUnsafeBufferPointer { input in
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(capacity)
        let result = deflate(&stream, Z_FINISH)
        precondition(result == Z_STREAM_END, "deflateBound was not enough")
        count = Int(stream.total_out)
      }
    }
  }
}
