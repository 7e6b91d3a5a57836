// The boundary to decoders and encoders that run in a process of their own. Renders see only this protocol. The
// daemon's implementation starts worker processes; tests provide their own implementation.

import ImageCodec
import PhotoModel

/// The picture, or pictures, that a worker must decode.
package enum CodedPictureRequest: Sendable, Hashable {
  /// Tiles in this order; each gives the rows of its planes: luma, and two of chroma if there is chroma. A sample has 1
  /// byte, or 2 in native order with more than 8 bits.
  case tiles(TileConfiguration, tileSize: PixelSize, tiles: [[ByteRange]])
  /// The first of these pictures that is not nearly black, else the last. Its rows arrive like a tile's.
  case firstLit(TileConfiguration, size: PixelSize, pictures: [[ByteRange]])
  /// One tile: the frame scaled to `size`, in one plane of RGB, or RGBA with alpha that is not premultiplied.
  case webP(WebPPicture, size: PixelSize)
  /// One tile: the region of the picture in which `step` pixels of a side are averaged to one, in planes of red, green
  /// and blue, or gray, and then alpha that is not premultiplied. A sample has 1 byte, or 2 in native order if the
  /// picture has more than 8 bits.
  case jxl(JXLPicture, step: Int, region: PixelRect)
  /// One tile: the number of bytes of the picture's ICC profile in four bytes, most significant first, the profile, and
  /// zeros; in one plane. Only the number, if the profile is longer than the rows.
  case jxlProfile(JXLPicture)
  /// One tile: the region of the developed picture in which `step` pixels of a side are averaged to one, in one plane
  /// of sRGB. The source's whole file is decoded.
  case raw(SensorPicture, step: Int, region: PixelRect)

  /// The size of each tile's rows.
  package var size: PixelSize {
    switch self {
    case .tiles(_, let size, _), .firstLit(_, let size, _), .webP(_, let size): size
    case .jxl(_, _, let region), .raw(_, _, let region): region.size
    case .jxlProfile: JXLPicture.profileRows
    }
  }
}

/// Some rows of a decoded tile.
package struct DecodedBand: Sendable, Hashable {
  /// Row r, counted from the band's first, is at `offset + r * strideBytes`.
  package struct Plane: Sendable, Hashable {
    let offset: Int
    let strideBytes: Int

    package init(offset: Int, strideBytes: Int) {
      self.offset = offset
      self.strideBytes = strideBytes
    }
  }

  /// The index in the request's tiles.
  let tile: Int
  /// Even, so that rows of chroma are whole.
  let firstRow: Int
  let rowCount: Int
  let planes: [Plane]

  package init(tile: Int, firstRow: Int, rowCount: Int, planes: [Plane]) {
    self.tile = tile
    self.firstRow = firstRow
    self.rowCount = rowCount
    self.planes = planes
  }
}

/// Decoders, and encoders if there are any.
package protocol CodedPictureDecoder: Sendable {
  /// Decodes on the calling thread, which waits for the worker.
  ///
  /// - Parameters:
  ///   - source: the file to which the request's ranges refer.
  ///   - isOptional: the caller can do without the picture, so its failure is not remembered.
  ///   - stop: ends the worker when it is raised.
  ///   - rows: gets all bands, tile after tile and from top to bottom, with their bytes, which are valid during the
  ///     call. Returns false to end the decode, which then succeeds.
  /// - Throws: ``CodecError``: `decoderUnavailable`, `decoderFailed`, `decoderInterrupted` or `stopped`.
  func decode(
    _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
    rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError)

  /// Whether the sensor data of RAW files can be developed.
  var developsRAW: Bool { get }

  /// The decoder for a picture that a client waits for: it may use several workers for one picture.
  var urgent: any CodedPictureDecoder { get }

  /// Encodes on the calling thread, which waits for the worker.
  ///
  /// - Parameters:
  ///   - profile: for JPEG XL, whose coded data contains it, the profile of the rows; else empty.
  ///   - rows: all rows, top to bottom, without padding: `encoding.channels` bytes a pixel.
  ///   - stop: ends the worker when it is raised.
  /// - Returns: the coded data; for AVIF the data of the colours, then the data of alpha if there is any.
  /// - Throws: ``CodecError``: `encoderUnavailable`, `encodingFailed`, `encoderInterrupted` or `stopped`.
  func encode(
    _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
  ) throws(CodecError) -> [[UInt8]]

  /// Transcodes a JPEG to a JPEG XL on the calling thread, which waits for the worker. The JPEG's metadata and all data
  /// after its picture are left out.
  ///
  /// - Parameters:
  ///   - source: has the JPEG.
  ///   - stop: ends the worker when it is raised.
  /// - Throws: ``CodecError``: `encoderUnavailable`, `encodingFailed`, `encoderInterrupted` or `stopped`.
  func transcode(
    _ transcoding: JPEGTranscoding, from source: any ByteSource, stop: StopFlag
  ) throws(CodecError) -> [UInt8]
}

extension CodedPictureDecoder {
  package var developsRAW: Bool { false }
  package var urgent: any CodedPictureDecoder { self }

  /// Without encoders.
  package func encode(
    _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
  ) throws(CodecError) -> [[UInt8]] { throw .encoderUnavailable(encoding.format) }

  /// Without encoders.
  package func transcode(
    _ transcoding: JPEGTranscoding, from source: any ByteSource, stop: StopFlag
  ) throws(CodecError) -> [UInt8] { throw .encoderUnavailable(.jxl) }
}
