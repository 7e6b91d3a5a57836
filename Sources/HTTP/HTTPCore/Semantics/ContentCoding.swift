import CZlib

/// The gzip content coding (RFC 9110 §8.4.1.3) and its negotiation (§12.5.3).
package enum ContentCoding: Sendable, Hashable {
  case identity, gzip

  /// Chooses the coding by an `Accept-Encoding` field. Gzip is used only if the field lists it or `*`, and is preferred
  /// at equal quality.
  package init(acceptEncoding value: String?) {
    self = .identity
    guard let value else { return }
    var gzip: Int?
    var identity: Int?
    var others: Int?
    for element in HTTPGrammar.elements(of: value) {
      let parts = HTTPGrammar.elements(of: element, separatedBy: UInt8(ascii: ";"))
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

  /// The entity tag of this coding of a representation. Each coding needs its own tag, because its bytes differ
  /// (§8.8.3.3).
  package func entityTag(_ tag: String) -> String {
    self == .gzip ? "\(tag.dropLast())-gzip\"" : tag
  }

  /// Minimum body size for gzip. Below it the response head outweighs the savings.
  package static let minimumGzipBytes = 1024

  /// The bytes compressed with gzip (RFC 1952), without name and time, so that equal input gives equal output. Time is
  /// linear in the input. Returns `nil` if memory is short.
  package static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard photod_deflate_init_gzip(&stream, 5) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let capacity = Int(deflateBound(&stream, UInt(bytes.count)))
    // Compress into temporary memory: an array with this capacity, which exceeds the size of the input, would stay
    // allocated and counted until a slow client has received the response.
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { output -> [UInt8] in
      bytes.withUnsafeBufferPointer { input in
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(capacity)
        let result = deflate(&stream, Z_FINISH)
        precondition(result == Z_STREAM_END, "deflateBound was not enough")
      }
      return Array(output[..<Int(stream.total_out)])
    }
  }
}
