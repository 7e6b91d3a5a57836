import CPhotodDecoder
import PhotoModel

extension DecodeRequest {
  /// Throws ``DecoderError/requestTooLarge(_:limit:found:)`` if the request exceeds a limit of the protocol, or if a
  /// required part is empty.
  func validate() throws(DecoderError) {
    try Self.check(.tiles, tiles.count, 1...Int(DECODER_MAX_TILES))
    try Self.check(.extents, extents.count, 0...Int(DECODER_MAX_EXTENTS))
    try Self.check(.parameterBytes, parameters.count, 0...Int(DECODER_MAX_PARAMETER_BYTES))
    for side in [size.width, size.height, codedSize.width, codedSize.height] {
      try Self.check(.side, side, 1...Int(DECODER_MAX_SIDE))
    }
  }

  /// The ranges of all tiles, in order.
  private var extents: [ByteRange] { tiles.flatMap { $0.picture + $0.alpha } }

  /// The request as the protocol's message. It must be valid.
  func message(_ layout: BandLayout, slotBytes: Int) -> [UInt8] {
    let extents = extents
    var head = decoder_request()
    head.version = UInt32(DECODER_PROTOCOL_VERSION)
    head.tile_count = UInt32(tiles.count)
    head.extent_count = UInt32(extents.count)
    head.parameter_bytes = UInt32(parameters.count)
    head.coded_width = UInt32(codedSize.width)
    head.coded_height = UInt32(codedSize.height)
    head.width = UInt32(size.width)
    head.height = UInt32(size.height)
    head.bit_depth = 8
    switch samples {
    case .rgb: head.format = UInt32(DECODER_RGB)
    case .rgba: head.format = UInt32(DECODER_RGBA)
    case .deepRGB: (head.format, head.bit_depth) = (UInt32(DECODER_RGB), 16)
    case .deepRGBA: (head.format, head.bit_depth) = (UInt32(DECODER_RGBA), 16)
    case .planar(let chroma, let bitDepth, let hasAlpha):
      head.format = UInt32(DECODER_PLANAR)
      head.chroma = UInt32(chroma.rawValue)
      head.bit_depth = UInt32(clamping: bitDepth)
      head.has_alpha = hasAlpha ? 1 : 0
    }
    head.nal_length_bytes = UInt32(clamping: nalLengthBytes)
    head.band_rows = UInt32(layout.bandRows)
    head.slot_bytes = UInt32(slotBytes)
    head.plane_count = UInt32(layout.planes.count)
    head.cpu_seconds = UInt32(clamping: max(1, cpuSeconds))
    head.alternatives = areAlternatives ? 1 : 0
    head.memory_limit_bytes = UInt64(min(max(0, memoryLimitBytes), 1 << 40))
    withUnsafeMutableBytes(of: &head.planes) { bytes in
      for (index, plane) in layout.planes.enumerated() {
        let place = decoder_plane(
          offset: UInt32(plane.offset), stride: UInt32(plane.strideBytes), width: UInt32(plane.width), reserved: 0)
        bytes.storeBytes(of: place, toByteOffset: index * MemoryLayout<decoder_plane>.stride, as: decoder_plane.self)
      }
    }
    let bytes =
      MemoryLayout<decoder_request>.size + tiles.count * MemoryLayout<decoder_tile>.stride
      + extents.count * MemoryLayout<decoder_extent>.stride + parameters.count
    head.byte_count = UInt32(bytes)
    var message: [UInt8] = []
    message.reserveCapacity(bytes)
    withUnsafeBytes(of: head) { message += $0 }
    var first = 0
    for tile in tiles {
      let entry = decoder_tile(
        first_extent: UInt32(first), extent_count: UInt32(tile.picture.count + tile.alpha.count),
        auxiliary_count: UInt32(tile.alpha.count), reserved: 0)
      withUnsafeBytes(of: entry) { message += $0 }
      first += tile.picture.count + tile.alpha.count
    }
    for range in extents {
      // A range outside of any file has no bytes: the worker reports that the payload ended.
      let extent = decoder_extent(
        offset: UInt64(clamping: range.offset), length: UInt64(clamping: range.length))
      withUnsafeBytes(of: extent) { message += $0 }
    }
    return message + parameters
  }

  private static func check(_ limit: DecodeLimit, _ found: Int, _ range: ClosedRange<Int>) throws(DecoderError) {
    guard range.contains(found) else { throw .requestTooLarge(limit, limit: range.upperBound, found: found) }
  }
}
