// Finds the gain map of a picture: a small second picture in the file that says how much brighter each place is on a
// display with headroom. Three kinds of file have one:
//
//     JPEG       a JPEG after the picture, found by the multi-picture index or Google's directory; its metadata is
//                ISO 21496-1's, Adobe's XMP, or Apple's XMP with the headroom in the picture's maker note
//     HEIF       an item `tmap`, derived from the picture and its map (ISO/IEC 23008-12)
//     HEIC       an auxiliary picture of Apple's kind, with the headroom in the maker note
//
// Used by renders only; scans record that there is a map (MediaSubtypes.photoHDR), and read nothing of it.

import MediaMetadata
import PhotoModel

/// The gain map of a picture, and where it is.
package struct GainMap: Sendable, Hashable {
  /// How samples are related to gains.
  package enum Encoding: Sendable, Hashable {
    /// As ``GainMapMetadata`` describes.
    case standard
    /// As ``AppleGainMap/standardSamples(headroom:)`` converts.
    case apple(headroom: Double)
  }

  /// How the converted samples are used.
  package let metadata: GainMapMetadata
  package let encoding: Encoding
  /// The map's JPEG in the file, from which the header's positions count; `nil` if they count from the file's start.
  package let range: ByteRange?
  /// Pixels of the map for one pixel of the picture, at most 1: usually 1/2 or 1/4.
  package let ratio: Double
  /// The header of the map, stored in the same orientation as the picture, with one or three channels of numbers that
  /// are not colours.
  @Boxed package private(set) var header: ImageHeader

  /// Whether the map has different gains for red, green and blue.
  package var isColored: Bool { header.colorChannels == 3 || metadata.channels.count == 3 }

  /// `nil` for a map that can't be kept: that of a base rendition of high dynamic range, and one without pixels of gray
  /// or RGB.
  init?(
    _ header: ImageHeader, of picture: ImageHeader, metadata: GainMapMetadata, encoding: Encoding = .standard,
    range: ByteRange? = nil
  ) {
    guard header.colorChannels == 1 || header.colorChannels == 3, !header.hasAlpha,
      !metadata.baseIsHDR, metadata.usesBaseColorSpace || header.colorChannels == 1
    else { return nil }
    var map = header
    map.embeddedProfile = nil
    map.calibration = nil
    map.containerOrientation = .topLeft
    map.metadata = EXIFSummary()
    map.blocks = []
    map.previews = []
    map.embeddedThumbnail = nil
    _header = Boxed(wrappedValue: map)
    self.metadata = metadata
    self.encoding = encoding
    self.range = range
    ratio = min(1, Double(map.storedSize.width) / Double(picture.storedSize.width))
  }

  /// The source of the map's own bytes.
  package func source(in file: any ByteSource) -> any ByteSource { range.map { ByteSourceSlice(file, $0) } ?? file }

  /// The sample of a standard map for each stored sample; `nil` if they are the same.
  package var table: [UInt8]? {
    guard case .apple(let headroom) = encoding else { return nil }
    return AppleGainMap.standardSamples(headroom: headroom)
  }
}

extension ImageHeader {
  /// Finds the picture's gain map. A damaged one is ignored.
  ///
  /// - Throws: `readFailed`.
  mutating func findGainMap(in source: any ByteSource, limits: CodecLimits) throws(CodecError) {
    guard raw == nil, displaySize == nil, colorChannels != 4, calibration?.isHDR != true else { return }
    do throws(CodecError) {
      switch (format, coded) {
      case (.jpeg, nil): gainMap = try appendedGainMap(in: source, limits)
      case (.heic, .heif(let picture)), (.avif, .heif(let picture)): gainMap = try itemGainMap(of: picture, in: source)
      default: break
      }
    } catch {
      if case .readFailed = error { throw error }
    }
  }

  // MARK: JPEG

  private func appendedGainMap(in source: any ByteSource, _ limits: CodecLimits) throws(CodecError) -> GainMap? {
    for range in gainMapCandidates {
      if let map = try jpegGainMap(at: range, in: source, limits) { return map }
    }
    // Without an index, Google's directory says where the map is.
    guard let packet = try block(.xmp, in: source), MotionPhotoXMP.mayNameGainMap(packet),
      let place = MotionPhotoXMP(packet[...]).gainMap, place.distance <= source.size
    else { return nil }
    let range = ByteRange(offset: source.size - Int64(place.distance), length: place.length)
    return gainMapCandidates.contains(range) ? nil : try jpegGainMap(at: range, in: source, limits)
  }

  private func jpegGainMap(
    at range: ByteRange, in file: any ByteSource, _ limits: CodecLimits
  ) throws(CodecError) -> GainMap? {
    let source = ByteSourceSlice(file, range)
    var reader = HeaderReader(source: source)
    guard try reader.bytes(at: 0, count: 2).elementsEqual([0xFF, 0xD8]) else { return nil }
    let header: ImageHeader
    do throws(CodecError) {
      header = try JPEGHeader.read(&reader, limits: limits)
      try limits.check(header.storedSize)
    } catch {
      if case .readFailed = error { throw error }
      return nil
    }
    guard header.isWidelyDecodable else { return nil }
    if let block = header.gainMapBlock,
      let metadata = GainMapMetadata(iso: try reader.bytes(at: block.offset, count: block.length))
    {
      return GainMap(header, of: self, metadata: metadata, range: range)
    }
    guard let packet = try header.block(.xmp, in: source)?[...] else { return nil }
    if let metadata = GainMapMetadata(xmp: packet) {
      return GainMap(header, of: self, metadata: metadata, range: range)
    }
    guard let stated = AppleGainMap.headroom(xmp: packet) else { return nil }
    return try appleMap(header, stated, in: file, range)
  }

  // MARK: HEIF

  private func itemGainMap(of picture: HEIFPicture, in source: any ByteSource) throws(CodecError) -> GainMap? {
    guard let map = picture.gainMap else { return nil }
    var header = self
    header.coded = .heif(map.picture)
    header.storedSize = map.picture.crop.size
    header.colorChannels = map.picture.color.configuration.chroma == .none ? 1 : 3
    header.bitsPerChannel = map.picture.isDeep ? 16 : 8
    header.hasAlpha = false
    header.format = map.picture.color.configuration.format
    if let metadata = map.metadata { return GainMap(header, of: self, metadata: metadata) }
    return try appleMap(header, 0, in: source, nil)
  }

  // MARK: Both

  /// A map of Apple's.
  ///
  /// - Parameter stated: the headroom that the map itself states; 0 for none.
  private func appleMap(
    _ header: ImageHeader, _ stated: Double, in file: any ByteSource, _ range: ByteRange?
  ) throws(CodecError) -> GainMap? {
    var headroom = stated
    if headroom <= 1, let exif = try block(.exif, in: file) { headroom = AppleGainMap.headroom(exif: exif[...]) ?? 0 }
    guard let metadata = GainMapMetadata(linearHeadroom: headroom) else { return nil }
    return GainMap(header, of: self, metadata: metadata, encoding: .apple(headroom: headroom), range: range)
  }

  /// The first metadata block of a kind.
  private func block(_ kind: MetadataBlock.Kind, in source: any ByteSource) throws(CodecError) -> [UInt8]? {
    guard let range = blocks.first(where: { $0.kind == kind })?.range else { return nil }
    return try source.codecBytes(at: range.offset, count: min(range.length, XMPPacket.maximumBytes))
  }
}
