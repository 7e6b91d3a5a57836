// Tone operations between the upright rows of a picture and its encoder.
//
//     rows -> first tables: bytes to planes -> RowStage -> RowStage -> last tables: planes to bytes -> encoder
//
// Rows have 8 bits a channel at both ends and 32 in between. Alpha is passed through, or used up at the end for a frame
// without alpha: white behind the picture is not adjusted. This encoder cuts off the margin of a part of a picture
// (EditMargin).

import CPhotodKernels
import ImageCodec
import MediaMetadata
import PhotoModel

final class AdjustingEncoder: RowEncoder {
  private let encoder: any RowEncoder
  private let channels: Int
  private let outputChannels: Int
  private let colors: Int
  private let size: PixelSize
  /// The part without the margin.
  private let shown: PixelRect
  /// The next row to leave the stages.
  private var nextRow = 0
  private let load: [[Float]]
  private let stages: [any RowStage]
  private let store: (tables: [[UInt8]], byRoot: Bool)?
  private let planes: RowBuffer<Float>
  private let bytes: RowBuffer<UInt8>

  /// - Parameters:
  ///   - edit: has at least one tone operation.
  ///   - size: of the picture whose rows arrive, after a warp, with the margin.
  ///   - channels: of arriving rows.
  ///   - outputChannels: of rows for the encoder: the same, or without alpha.
  init(_ edit: PixelAdjustments, size: PixelSize, channels: Int, outputChannels: Int, to encoder: any RowEncoder) {
    let colors = channels < 3 ? 1 : 3
    self.encoder = encoder
    self.channels = channels
    self.outputChannels = outputChannels
    self.size = size
    shown = edit.margin.shownPart(in: size)
    self.colors = colors
    let program = ToneProgram(edit, isColor: colors == 3, width: size.width)
    load = program.load
    store = program.store
    stages = program.steps.map { (step: ToneProgram.Step) -> any RowStage in
      switch step {
      case .sharpen(let amount, let sigma):
        return SharpenStage(amount: amount, sigma: sigma, size: size, colors: colors, planes: channels)
      case .denoise(let amount, let sigma):
        return DenoiseStage(amount: amount, sigma: sigma, size: size, colors: colors, planes: channels)
      case .tables, .matrix, .vibrance, .vignette: return PointStage(step, colors: colors, size: size)
      }
    }
    planes = RowBuffer(count: size.width * channels, zero: 0)
    bytes = RowBuffer(count: size.width * channels, zero: 0)
  }

  /// Memory of the encoder, without the encoder that it feeds.
  static func byteCount(_ edit: PixelAdjustments, size: PixelSize, channels: Int) -> Int {
    // An operation needs at most two steps: its tables, and the step after them.
    let tables = (2 * edit.tones.count + 2) * (ToneProgram.stepBytes + 512)
    let sigma = ToneProgram.sigma(edit, width: size.width)
    let neighbours = edit.tones.reduce(0) { sum, tone in
      switch tone.operation {
      case .tone(.sharpness, _):
        sum
          + NeighbourStage.byteCount(
            width: size.width, planes: channels, keptPlanes: channels + 2, radius: NeighbourRadius.sharpening(sigma))
      case .tone(.noiseReduction, _):
        sum
          + NeighbourStage.byteCount(
            width: size.width, planes: channels, keptPlanes: channels, radius: NeighbourRadius.noise(sigma))
      default: sum
      }
    }
    return tables + neighbours + size.width * channels * 5
  }

  var warnings: CodecWarnings? { encoder.warnings }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    for i in 0..<count { try adjust(rows + i * strideBytes) }
  }

  func finish() throws(CodecError) -> [UInt8] {
    for (i, stage) in stages.enumerated() {
      try stage.finish { (row: PlanarRow) throws(CodecError) in try run(row, from: i + 1) }
    }
    return try encoder.finish()
  }

  private func adjust(_ row: UnsafeRawPointer) throws(CodecError) {
    let samples = row.assumingMemoryBound(to: UInt8.self)
    for channel in 0..<channels {
      let table = channel >= colors ? Self.alphaTable : load[load.count == 1 ? 0 : channel]
      photod_adjust_load_u8(
        samples + channel, Int32(channels), table, planes.pointer + channel * size.width, size.width)
    }
    try run(planes.pointer, from: 0)
  }

  private func run(_ row: PlanarRow, from stage: Int) throws(CodecError) {
    if stage < stages.count {
      return try stages[stage].rowReceived(row) { (row: PlanarRow) throws(CodecError) in try run(row, from: stage + 1) }
    }
    let y = nextRow
    nextRow += 1
    guard y >= shown.y, y < shown.y + shown.height else { return }
    for channel in 0..<channels {
      let plane = row + channel * size.width
      if let store, channel < colors {
        let table = store.tables[store.tables.count == 1 ? 0 : channel]
        photod_adjust_store_table_u8(
          plane, Int32(channels), table, Int32(ToneProgram.storeSteps), store.byRoot ? 1 : 0, bytes.pointer + channel,
          size.width)
      } else {
        photod_adjust_store_u8(plane, Int32(channels), bytes.pointer + channel, size.width)
      }
    }
    if outputChannels < channels {
      WhiteBackground.blend(bytes.pointer, channels: channels, to: bytes.pointer, pixels: size.width)
    }
    let first = UnsafeRawPointer(bytes.pointer) + shown.x * outputChannels
    try encoder.write(first, strideBytes: shown.width * outputChannels, count: 1)
  }

  /// Alpha is not adjusted.
  private static let alphaTable: [Float] = (0..<256).map { Float($0) / 255 }
}
