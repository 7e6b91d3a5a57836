import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Synchronization

/// A coded picture of known samples: every sample is a function of its place.
struct PaintedPicture: Sendable {
  var columns = 3
  var rows = 2
  var tile = PixelSize(width: 48, height: 32)
  var size = PixelSize(width: 131, height: 61)
  var chroma = ChromaSampling.half
  var bitDepth = 8
  var conversion = YCbCrConversion(matrix: .weights(red: 0.299, blue: 0.114), isFullRange: true)
  var properties: [[UInt8]] = []
  var hasAlpha = false
  /// Whether the file says that its colours are multiplied by alpha.
  var isPremultiplied = false
  /// Code points of the matrix, and of primaries and transfer, in the file.
  var matrix = 6
  var colors = (primaries: 1, transfer: 13)

  init(_ change: (inout PaintedPicture) -> Void = { _ in }) { change(&self) }

  var file: [UInt8] {
    let color = CodedHEIFFile.nclx(colors.primaries, colors.transfer, matrix, isFullRange: conversion.isFullRange)
    func grid(_ kind: UInt8, _ configuration: [UInt8], _ properties: [[UInt8]]) -> [CodedHEIFFile.Item] {
      CodedHEIFFile.grid(
        columns: columns, rows: rows, tile: (tile.width, tile.height), size: (size.width, size.height),
        configuration: configuration, properties: properties
      ) { [kind, UInt8($0 >> 8), UInt8($0 & 255)] }
    }
    var items = grid(0, CodedHEIFFile.hvcC(chroma: chroma.rawValue, bitDepth: bitDepth), [color] + properties)
    for i in items.indices.dropFirst() { items[i].extents = 2 }
    if hasAlpha {
      let name = CodedHEIFFile.auxiliary("urn:mpeg:hevc:2015:auxid:1")
      for var item in grid(1, CodedHEIFFile.hvcC(chroma: 0), [name]) {
        item.id += 1000
        item.references = item.id == 1001 ? [("dimg", (0..<rows * columns).map { 1100 + $0 }), ("auxl", [1])] : []
        items.append(item)
      }
      if isPremultiplied { items[0].references.append(("prem", [1001])) }
    }
    return CodedHEIFFile(items).bytes
  }

  var header: ImageHeader {
    get throws { try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits()) }
  }

  /// A sample of a plane: 0 luma, 1 and 2 chroma, 3 alpha. Neighbours differ little, places far apart much.
  func sample(_ plane: Int, _ x: Int, _ y: Int) -> Int {
    let one = 1 << (bitDepth - 8)
    func wave(_ value: Int, _ height: Int) -> Int { abs(value % (2 * height) - height) }
    switch plane {
    // Within the range in which no colour is clamped, so that means of samples are means of colours.
    case 0: return (80 + wave(x * 5 + y * 3, 110)) * one + (one > 1 ? (x ^ y) & 3 : 0)
    case 1: return (110 + wave(x * 2 + y, 35)) * one
    case 2: return (112 + wave(x + y * 3, 31)) * one
    default: return wave(x * 2 + y, 255)
    }
  }

  /// Chroma of a pixel, between samples: each has its place in the middle of its pixels.
  ///
  /// - Parameter decoded: the columns and rows of pixels whose samples are known; those at their edges repeat.
  private func interpolatedChroma(
    _ plane: Int, _ x: Int, _ y: Int, decoded: (columns: Range<Int>, rows: Range<Int>)
  ) -> Double {
    func places(_ pixel: Int, _ step: Int, _ decoded: Range<Int>) -> [(sample: Int, weight: Double)] {
      if step == 1 { return [(pixel, 1)] }
      let next = pixel / 2 + (pixel % 2 == 0 ? -1 : 1)
      let limits = decoded.lowerBound / 2...(decoded.upperBound - 1) / 2
      return [(pixel / 2, 0.75), (min(max(next, limits.lowerBound), limits.upperBound), 0.25)]
    }
    var sum = 0.0
    for column in places(x, chroma.horizontal, decoded.columns) {
      for row in places(y, chroma.vertical, decoded.rows) {
        sum += Double(sample(plane, column.sample, row.sample)) * column.weight * row.weight
      }
    }
    return sum
  }

  /// All columns and rows.
  var everything: (columns: Range<Int>, rows: Range<Int>) { (0..<size.width, 0..<size.height) }

  /// The pixel of the whole picture by the formulas of ITU-T H.273 §8.3, each 0...1.
  ///
  /// - Parameter decoded: the pixels from which chroma is interpolated; `nil`: it is repeated.
  func rgb(
    _ x: Int, _ y: Int, decoded: (columns: Range<Int>, rows: Range<Int>)? = nil
  ) -> (Double, Double, Double) {
    let one = Double(1 << (bitDepth - 8))
    let full = 256 * one - 1
    let (black, lumaSpan, chromaSpan) =
      conversion.isFullRange ? (0, full, full) : (16 * one, 219 * one, 224 * one)
    let luma = (Double(sample(0, x, y)) - black) / lumaSpan
    if chroma == .none { return (luma, luma, luma) }
    func value(_ plane: Int) -> Double {
      if let decoded { return interpolatedChroma(plane, x, y, decoded: decoded) }
      return Double(sample(plane, x / chroma.horizontal, y / chroma.vertical))
    }
    let (blue, red) = (value(1), value(2))
    func clamped(_ value: Double) -> Double { min(1, max(0, value)) }
    switch conversion.matrix {
    case .identity:
      return (clamped((red - black) / lumaSpan), clamped(luma), clamped((blue - black) / lumaSpan))
    case .yCgCo:
      // Chroma has the scale of luma.
      let (green, orange) = ((blue - 128 * one) / lumaSpan, (red - 128 * one) / lumaSpan)
      return (clamped(luma - green + orange), clamped(luma + green), clamped(luma - green - orange))
    case .weights(let kr, let kb):
      let (cb, cr) = ((blue - 128 * one) / chromaSpan, (red - 128 * one) / chromaSpan)
      let (r, b) = (luma + 2 * (1 - kr) * cr, luma + 2 * (1 - kb) * cb)
      return (clamped(r), clamped((luma - kr * r - kb * b) / (1 - kr - kb)), clamped(b))
    }
  }

  /// The whole picture as stored, with alpha if it has one.
  var pixels: Pixels {
    var pixels = Pixels(width: size.width, height: size.height, channels: hasAlpha ? 4 : 3)
    for y in 0..<size.height {
      for x in 0..<size.width {
        let (r, g, b) = rgb(x, y, decoded: everything)
        let start = (y * size.width + x) * pixels.channels
        for (c, value) in [r, g, b].enumerated() { pixels.bytes[start + c] = UInt8((value * 255).rounded()) }
        if hasAlpha { pixels.bytes[start + 3] = UInt8(sample(3, x, y)) }
      }
    }
    return pixels
  }

  /// A part of the picture, upright.
  func upright(_ orientation: Orientation, crop: PixelRect? = nil) -> Pixels {
    let crop = crop ?? PixelRect(size)
    let size = orientation.apply(to: crop.size)
    return pixels.mapped(width: size.width, height: size.height) { x, y in
      let place = orientation.stored(PixelRegion(x: Double(x), y: Double(y), width: 1, height: 1), ofUpright: size)
      return (crop.x + Int(place.x), crop.y + Int(place.y))
    }
  }
}

/// Paints pictures instead of decoding them. The data of a tile says which tile it is.
final class PaintingDecoder: CodedPictureDecoder {
  let picture: PaintedPicture
  /// Rows of a band.
  let bandRows: Int
  /// Ends after this many bands without an error, like a worker that lies.
  let lastBand: Int
  /// The profile of a JPEG XL, and how long it is said to be.
  let profile: [UInt8]
  let statedProfileBytes: Int?
  private let log = Mutex<(requests: [[Int]], bands: Int)>(([], 0))

  init(
    _ picture: PaintedPicture = PaintedPicture(), bandRows: Int = 10, lastBand: Int = .max, profile: [UInt8] = [],
    statedProfileBytes: Int? = nil
  ) {
    self.profile = profile
    self.statedProfileBytes = statedProfileBytes
    self.picture = picture
    self.bandRows = bandRows
    self.lastBand = lastBand
  }

  /// The tiles of each request, by their numbers in the grid.
  var requests: [[Int]] { log.withLock { $0.requests } }
  var bands: Int { log.withLock { $0.bands } }

  func decode(
    _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
    rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    switch request {
    case .tiles(let configuration, let size, let tiles), .firstLit(let configuration, let size, let tiles):
      try paint(configuration, size, tiles, source, stop, rows)
    case .webP(let webP, let size): try paint(webP, size, stop, rows)
    case .jxl(let jxl, let step, let region): try paint(jxl, step, region, stop, rows)
    case .jxlProfile: try sendProfile(request.size, stop, rows)
    case .raw: throw .decoderUnavailable(.raw)
    }
  }

  private func paint(
    _ configuration: TileConfiguration, _ size: PixelSize, _ tiles: [[ByteRange]], _ source: any ByteSource,
    _ stop: StopFlag, _ rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    let data: [[UInt8]]
    do { data = try tiles.map { try $0.flatMap { try source.bytes(at: $0.offset, count: $0.length) } } } catch {
      throw .readFailed(code: 5)
    }
    let numbers = data.map { Int($0[1]) << 8 | Int($0[2]) }
    log.withLock { $0.requests.append(numbers) }
    let planes = data.first?[0] == 1 ? [3] : configuration.chroma == .none ? [0] : [0, 1, 2]
    for (index, number) in numbers.enumerated() {
      let (left, top) = (number % picture.columns * size.width, number / picture.columns * size.height)
      for first in stride(from: 0, to: size.height, by: bandRows) {
        let count = min(bandRows, size.height - first)
        var bytes: [UInt8] = []
        var places: [DecodedBand.Plane] = []
        for plane in planes {
          let part = plane == 1 || plane == 2
          let (across, down) = part ? (configuration.chroma.horizontal, configuration.chroma.vertical) : (1, 1)
          let width = (size.width + across - 1) / across
          let step = configuration.bitDepth > 8 && plane != 3 ? 2 : 1
          places.append(DecodedBand.Plane(offset: bytes.count, strideBytes: width * step + 6))
          for y in first / down..<(first + count + down - 1) / down {
            for x in 0..<width {
              let sample = picture.sample(plane, left / across + x, top / down + y)
              bytes.append(UInt8(sample & 255))
              if step == 2 { bytes.append(UInt8(sample >> 8)) }
            }
            bytes += [9, 9, 9, 9, 9, 9]
          }
        }
        let band = DecodedBand(tile: index, firstRow: first, rowCount: count, planes: places)
        if try !deliver(band, bytes, stop, rows) { return }
      }
    }
  }

  /// The frame of a WebP: samples of the picture as RGB, scaled by a box.
  private func paint(
    _ webP: WebPPicture, _ size: PixelSize, _ stop: StopFlag,
    _ rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    let channels = webP.hasAlpha ? 4 : 3
    var painted = picture
    painted.size = webP.frame.size
    painted.hasAlpha = webP.hasAlpha
    let pixels = painted.pixels.averaged(width: size.width, height: size.height)
    for first in stride(from: 0, to: size.height, by: bandRows) {
      let count = min(bandRows, size.height - first)
      let stride = size.width * channels
      let bytes = Array(pixels.bytes[first * stride..<(first + count) * stride])
      let band = DecodedBand(
        tile: 0, firstRow: first, rowCount: count, planes: [DecodedBand.Plane(offset: 0, strideBytes: stride)])
      if try !deliver(band, bytes, stop, rows) { return }
    }
  }

  /// The region of a JPEG XL: samples of the picture, averaged in boxes, in planes.
  private func paint(
    _ jxl: JXLPicture, _ step: Int, _ region: PixelRect, _ stop: StopFlag,
    _ rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    var painted = picture
    painted.size = jxl.header.size
    painted.hasAlpha = jxl.header.hasAlpha
    let size = PixelSize(
      width: (painted.size.width + step - 1) / step, height: (painted.size.height + step - 1) / step)
    let pixels = painted.pixels.averaged(width: size.width, height: size.height)
    let colors = jxl.header.isGray ? 1 : 3
    let isDeep = jxl.header.isDeep
    for first in stride(from: 0, to: region.height, by: bandRows) {
      let count = min(bandRows, region.height - first)
      var bytes: [UInt8] = []
      var places: [DecodedBand.Plane] = []
      for channel in Array(0..<colors) + (jxl.header.hasAlpha ? [3] : []) {
        places.append(DecodedBand.Plane(offset: bytes.count, strideBytes: region.width * (isDeep ? 2 : 1) + 4))
        for y in region.y + first..<region.y + first + count {
          for x in region.x..<region.x + region.width {
            let sample = pixels.bytes[(y * size.width + x) * pixels.channels + channel]
            bytes += isDeep ? [sample, sample] : [sample]
          }
          bytes += [9, 9, 9, 9]
        }
      }
      let band = DecodedBand(tile: 0, firstRow: first, rowCount: count, planes: places)
      if try !deliver(band, bytes, stop, rows) { return }
    }
  }

  private func sendProfile(
    _ size: PixelSize, _ stop: StopFlag, _ rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    var bytes = (0..<4).map { UInt8(truncatingIfNeeded: (statedProfileBytes ?? profile.count) >> (24 - 8 * $0)) }
    bytes += profile + [UInt8](repeating: 0, count: size.pixelCount - 4 - profile.count)
    for first in stride(from: 0, to: size.height, by: 2) {
      let count = min(2, size.height - first)
      let band = DecodedBand(
        tile: 0, firstRow: first, rowCount: count,
        planes: [DecodedBand.Plane(offset: 0, strideBytes: size.width)])
      let part = Array(bytes[first * size.width..<(first + count) * size.width])
      if try !deliver(band, part, stop, rows) { return }
    }
  }

  private func deliver(
    _ band: DecodedBand, _ bytes: [UInt8], _ stop: StopFlag, _ rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) -> Bool {
    if stop.isRaised { throw .stopped }
    let number = log.withLock { log in
      log.bands += 1
      return log.bands
    }
    if number > lastBand { return false }
    return bytes.withUnsafeBytes { rows(band, $0) }
  }
}
