// Metadata in PNG text chunks: XMP packets that are compressed, and profiles that ImageMagick writes as hexadecimal
// digits because PNG has no chunk for them.

import CZlib

package enum RawProfile {
  /// The prefix of ImageMagick's keywords; the profile's name follows.
  package static let keyword: [UInt8] = Array("Raw profile type ".utf8)

  /// Returns the metadata block in a text: a line feed, the profile's name, its length in decimal digits, and its bytes
  /// in hexadecimal digits, separated by white space.
  static func block(_ text: ArraySlice<UInt8>) -> MetadataDictionary.Block? {
    let lines = text.split(maxSplits: 2) { $0 == 0x0A }
    guard lines.count == 3, let length = Int(String(decoding: lines[1].drop { $0 <= 0x20 }, as: UTF8.self)),
      let bytes = bytes(lines[2]), bytes.count == length
    else { return nil }
    // ExifTool writes "IPTC profile".
    switch String(decoding: lines[0].prefix { $0 > 0x20 }, as: UTF8.self).lowercased() {
    case "exif", "app1":
      if bytes.starts(with: EXIFSummary.signature) { return .init(.exif, bytes.dropFirst(EXIFSummary.signature.count)) }
      if bytes.starts(with: XMPPacket.signature) { return .init(.xmp, bytes.dropFirst(XMPPacket.signature.count)) }
      return TIFFBlock(bytes[...]) == nil ? nil : .init(.exif, bytes[...])
    case "xmp": return .init(.xmp, bytes[...])
    case "iptc":
      // Photoshop's image resources, or the IPTC datasets without them.
      var resources = ImageResources()
      resources.take(bytes[...], at: 0)
      guard let place = resources.blocks.first?.range else {
        return bytes.first == 0x1C ? .init(.iptc, bytes[...]) : nil
      }
      return .init(.iptc, bytes.dropFirst(Int(place.offset)).prefix(place.length))
    default: return nil
    }
  }

  /// Decompresses a zlib stream (RFC 1950); `nil` if it is damaged or its content is longer than the limit.
  static func inflated(_ stream: ArraySlice<UInt8>, limit: Int) -> [UInt8]? {
    var output: [UInt8] = []
    var capacity = min(limit, max(4096, stream.count * 4))
    while true {
      var count = uLong(capacity)
      var status = Z_OK
      output = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, filled in
        stream.withUnsafeBufferPointer { input in
          status = uncompress(buffer.baseAddress, &count, input.baseAddress, uLong(input.count))
        }
        filled = status == Z_OK ? Int(count) : 0
      }
      if status == Z_OK { return output }
      guard status == Z_BUF_ERROR, capacity < limit else { return nil }
      capacity = min(limit, capacity * 4)
    }
  }

  /// A DEFLATE stream without zlib's header (RFC 1951), inflated; `nil` if it is damaged, truncated or longer than
  /// `limit`.
  static func inflated(raw stream: ArraySlice<UInt8>, limit: Int) -> [UInt8]? {
    var state = z_stream()
    guard inflateInit2_(&state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      return nil
    }
    defer { inflateEnd(&state) }
    var output: [UInt8] = []
    var status = Z_OK
    stream.withUnsafeBufferPointer { input in
      state.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      state.avail_in = uInt(input.count)
      while status == Z_OK, output.count <= limit {
        let piece = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, filled in
          state.next_out = buffer.baseAddress
          state.avail_out = uInt(buffer.count)
          status = inflate(&state, Z_NO_FLUSH)
          filled = buffer.count - Int(state.avail_out)
        }
        output += piece
      }
    }
    return status == Z_STREAM_END && output.count <= limit ? output : nil
  }

  /// The bytes that hexadecimal digits stand for, white space between them; `nil` for any other text.
  static func bytes(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits where digit > 0x20 {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return high == nil ? bytes : nil
  }
}
