// Decides how a picture's colours are converted, once for each kind of source, and caches the decision.
//
// Making a transform costs 2 ms from RGB and over 20 ms from CMYK, and the tables of linear light 3 to 11 ms: as much
// as a small render. A library has few profiles.

import ImageCodec
import MediaMetadata
import PhotoModel
import Primitives
import Synchronization

/// How a render's rows are converted to the output's colours.
struct OutputColor: Sendable {
  /// `nil` if the colours are not converted.
  var transform: (any RowTransform)?
  /// The profile to embed in the output; `nil` if its pixels are sRGB.
  var profile: [UInt8]?
  /// The light in which the picture is scaled; `nil` if it is scaled in its own values.
  var light: LinearLight?
  /// The light of a frame of high dynamic range; `nil` for other frames.
  var hdrLight: HDRLight?
  /// Why an embedded profile was ignored.
  var warning: String?
  /// Why a frame of high dynamic range lacks the gains of its map.
  var gainWarning: CodecWarnings?

  var warnings: CodecWarnings? {
    warning.flatMap { CodecWarnings(library: CodecWarnings.colorLibrary, count: 1, first: $0) }
  }
}

/// The transforms that renders share: the most recently used, within a limit of bytes.
package final class ColorTransforms: Sendable {
  /// A source's colours and the requested colours.
  private struct Key: Hashable, Sendable {
    let color: SourceColor
    let rows: RowFormat
    let colorSpace: ColorSpace
    let isLinear: Bool

    /// Profiles differ in their headers (§7.2 has a date and a digest) or near their ends, so hashing those is enough;
    /// equality compares all bytes.
    func hash(into hasher: inout Hasher) {
      hasher.combine(color.profile?.count)
      for byte in color.profile?.prefix(128) ?? [] { hasher.combine(byte) }
      for byte in color.profile?.suffix(128) ?? [] { hasher.combine(byte) }
      hasher.combine(color.calibration)
      hasher.combine(rows)
      hasher.combine(colorSpace)
      hasher.combine(isLinear)
    }
  }

  /// Memory of a Little CMS transform in addition to its profile: tables of 33 points a side for RGB, 17 for CMYK
  /// (cmsopt.c).
  private static let tableBytes = 160 << 10
  private static let cmykTableBytes = 1 << 20

  private let outputs: Mutex<LRUCache<Key, OutputColor>>

  /// - Parameter capacityBytes: maximum bytes of cached transforms; 0 caches none.
  package init(capacityBytes: Int) {
    outputs = Mutex(LRUCache(capacityBytes: capacityBytes))
  }

  /// Bytes of cached transforms now.
  package var bytesInUse: Int { outputs.withLock { $0.bytes } }

  /// Decides how rows with these colours are converted. Takes microseconds if the decision is cached. Never fails: an
  /// unusable profile is ignored, with a warning.
  ///
  /// - Parameter isLinear: whether rows are scaled in linear light.
  func outputColor(
    of color: SourceColor, _ rows: RowFormat, as colorSpace: ColorSpace, isLinear: Bool = false
  ) -> OutputColor {
    if color.profile == nil && color.calibration == nil && rows.model != .cmyk {
      let light = isLinear ? LinearLight.withoutProfile(bitsPerChannel: rows.bitsPerChannel) : nil
      return OutputColor(light: light, warning: color.warning)
    }
    let key = Key(color: color, rows: rows, colorSpace: colorSpace, isLinear: isLinear)
    if let known = outputs.withLock({ $0.value(for: key) }) { return known }
    // Outside the lock: two renders may make the same transform; the later one is kept.
    var output = Self.decide(color, rows, colorSpace)
    if isLinear { output.light = .of(color, rows) }
    keep(output, key)
    return output
  }

  /// Whether the profile in a file is used for a picture of 8 bits in gray or RGB. True without a profile; false for an
  /// unusable one.
  ///
  /// - Throws: ``CodecError``, if the profile is too large or can't be read.
  package func acceptsProfile(
    of header: ImageHeader, in source: any ByteSource, limits: CodecLimits
  ) throws(CodecError) -> Bool {
    guard header.embeddedProfile != nil else { return true }
    let color = try SourceColor(header, in: source, limits: limits)
    let rows = RowFormat(model: header.colorChannels == 1 ? .gray : .rgb, hasAlpha: false, bitsPerChannel: 8)
    return outputColor(of: color, rows, as: .preserve).warning == nil
  }

  private func keep(_ output: OutputColor, _ key: Key) {
    let tables =
      switch output.transform {
      case is ICCTransform, is MatrixTransform: key.rows.model == .cmyk ? Self.cmykTableBytes : Self.tableBytes
      case let gray as GrayTransform: gray.bytes
      default: 0
      }
    let profiles = (key.color.profile?.count ?? 0) + (output.profile?.count ?? 0)
    let bytes = 1024 + profiles + tables + (output.light?.bytes ?? 0)
    _ = outputs.withLock { $0.keep(output, for: key, bytes: bytes) }
  }

  private static func decide(_ color: SourceColor, _ rows: RowFormat, _ colorSpace: ColorSpace) -> OutputColor {
    var output = OutputColor(warning: color.warning)
    if let bytes = color.profile {
      do throws(ProfileError) {
        let profile = try ICCProfile(bytes, for: rows.model, LCMSContext())
        return try decide(profile, bytes, rows, colorSpace)
      } catch {
        output.warning = error.reason
      }
    }
    if rows.model == .cmyk {
      output.transform = NaiveCMYKTransform()
      return output
    }
    guard let calibration = color.calibration,
      !(rows.model == .gray ? calibration.hasSRGBTransfer : calibration.isSRGB)
    else { return output }
    do throws(ProfileError) {
      // Encode the profile and read it again, so that the conversion uses the same profile as the output carries.
      let bytes = try ICCProfile(calibration, for: rows.model, LCMSContext()).encoded()
      let described = try decide(
        ICCProfile(bytes, for: rows.model, LCMSContext()), bytes, rows,
        calibration.isHDR ? .srgb : colorSpace)
      output.transform = described.transform
      output.profile = described.profile
    } catch {
      output.warning = output.warning ?? error.reason
    }
    return output
  }

  /// Decides for rows that the profile describes.
  private static func decide(
    _ profile: ICCProfile, _ bytes: [UInt8], _ rows: RowFormat, _ colorSpace: ColorSpace
  ) throws(ProfileError) -> OutputColor {
    if colorSpace == .preserve && rows.model != .cmyk { return OutputColor(profile: bytes) }
    let transform = try ICCTransform(profile, rows)
    if transform.isIdentity { return OutputColor() }
    if rows.model == .gray { return OutputColor(transform: try GrayTransform(profile, rows)) }
    if let exact = try MatrixTransform(profile, rows) { return OutputColor(transform: exact) }
    return OutputColor(transform: transform)
  }
}
