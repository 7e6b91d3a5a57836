// Reads the header and the metadata of an original, wherever its bytes are. Never decodes pixels.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import MediaMetadata
import PhotoModel

package struct MediaProbe: Sendable {
  /// Maximum length of a file that becomes an asset, in bytes: more than any picture or video has. It keeps sums of
  /// file positions, and of the lengths of all files of an archive, within `Int64`.
  package static let maximumFileBytes: Int64 = 1 << 44

  private let limits: CodecLimits
  private let dateResolver: EXIFDateResolver

  /// - Parameter timeZone: the zone of dates without an offset.
  package init(limits: CodecLimits, timeZone: TimeZone) {
    self.limits = limits
    dateResolver = EXIFDateResolver(timeZone: timeZone)
  }

  /// Everything that findings depend on besides the files: after a change of this value a full scan probes every file
  /// again.
  package var version: String { "20 \(dateResolver.timeZone.identifier) \(limits.headerSegments)" }

  /// The metadata of an open file, or of an original of a remote store: reads its head and, in some formats, its end.
  ///
  /// - Parameters:
  ///   - identity: its modification time is the date of a file without a date of its own.
  ///   - path: the file name distinguishes screenshots from photographs.
  package func media(
    of file: any ByteSource, _ identity: FileIdentity, at path: [UInt8]
  ) throws(CodecError) -> ProbedMedia {
    guard file.size <= Self.maximumFileBytes else {
      throw .limitExceeded("the size of the file", limit: Int(Self.maximumFileBytes), found: Int(clamping: file.size))
    }
    // A picture over a limit is still an asset: a request for it gets an error that names the limit.
    let header = try MediaHeader.read(from: file, limits: limits.headerOnly)
    var media = media(header, identity, path)
    if header.format.isRAW { media.hasPicture = try hasPreview(file) }
    if header.format.mediaType == .video { media.hasPicture = try hasPoster(file) }
    media.video = try MotionVideo.range(in: file, header)
    // Editors may keep the XMP of a Live Photo but drop the video. If the video is in another file, the catalogue adds
    // the subtype.
    if media.video != nil {
      media.mediaSubtypes.insert(.photoLive)
    } else {
      media.mediaSubtypes.remove(.photoLive)
    }
    do throws(ByteSourceError) {
      media.fingerprint = try FileFingerprint(of: file)
    } catch {
      throw CodecError(error)
    }
    return media
  }

  /// Whether a decoder exists for a video's codec. False for a damaged file.
  private func hasPoster(_ file: any ByteSource) throws(CodecError) -> Bool {
    do throws(CodecError) {
      _ = try ImageHeader.read(from: file, limits: limits)
      return true
    } catch {
      switch error {
      case .readFailed: throw error
      // A request for it gets an error that names the limit.
      case .limitExceeded: return true
      default: return false
      }
    }
  }

  /// Whether a RAW file can be shown. False for a damaged one, which becomes an asset without a picture.
  private func hasPreview(_ file: any ByteSource) throws(CodecError) -> Bool {
    do throws(CodecError) {
      return try !RAWPreviews.find(in: file, limits: limits).isEmpty
    } catch {
      if case .readFailed = error { throw error }
      return false
    }
  }

  private func media(_ header: MediaHeader, _ identity: FileIdentity, _ path: [UInt8]) -> ProbedMedia {
    let modified = Timestamp(milliseconds: identity.modified / 1_000_000)
    var media = ProbedMedia(
      uniformTypeIdentifier: header.format.uniformTypeIdentifier, mediaType: header.format.mediaType,
      mediaSubtypes: header.facts.subtypes, isRAW: header.format.isRAW, pixelSize: header.uprightSize,
      orientation: header.orientation, hasAlpha: header.hasAlpha, durationSeconds: header.durationSeconds,
      date: date(header, modified: modified), modificationDate: modified,
      location: header.exif.location ?? header.facts.capture.location, cameraMake: header.exif.make,
      cameraModel: header.exif.model, thumbnail: header.thumbnail,
      contentIdentifier: header.facts.contentIdentifier, burst: header.facts.burstIdentifier)
    media.descriptive = header.facts.descriptive
    media.regions = header.facts.regions.regions(stored: header.storedSize, orientation: header.orientation)
    media.isSelfPortrait = header.facts.isSelfPortrait && header.format.mediaType == .image
    media.isAnimated = header.facts.isAnimated
    media.isLongExposure = header.facts.isLongExposure
    if header.format.mediaType == .image { media.edit = header.facts.edit }
    media.mediaSubtypes.formUnion(SubtypeHeuristic(media, path: path).subtypes)
    return media
  }

  /// The file's own date, the first that is in the years that a date can have, or else the time at which it was
  /// written.
  private func date(_ header: MediaHeader, modified: Timestamp) -> CreationDate {
    for stated in header.exif.dates {
      if let date = dateResolver.date(stated, source: .metadata) { return date }
    }
    // A movie's XMP often states when it was exported.
    for stated in header.containerDates {
      if let date = dateResolver.date(stated, source: .container) { return date }
    }
    for stated in header.facts.capture.dates {
      if let date = dateResolver.date(stated, source: .metadata) { return date }
    }
    return CreationDate(moment: modified, source: .file)
  }
}

/// Guesses subtypes from dimensions and file name where the file does not name them.
struct SubtypeHeuristic {
  /// No sensor or screen is this wide: a camera picture of this aspect ratio was stitched.
  private static let panoramaRatio = 2.5
  /// A narrow crop is not a panorama.
  private static let panoramaSide = 3000
  /// Filename prefixes of screenshots on Android, GNOME, KDE, Windows and macOS.
  private static let screenshotNames = ["screenshot", "screen shot", "screen_shot"]

  /// Filename prefixes of screen recordings on iOS, Android, GNOME and macOS.
  private static let recordingNames = [
    "rpreplay_final", "screen recording", "screen_recording", "screenrecord", "screen-recording", "screencast",
  ]

  private(set) var subtypes: MediaSubtypes = []

  init(_ media: ProbedMedia, path: [UInt8]) {
    let name = Self.name(path)
    if media.mediaType == .video, media.cameraMake == nil, Self.recordingNames.contains(where: name.hasPrefix) {
      subtypes.insert(.videoScreenRecording)
    }
    guard media.mediaType == .image else { return }
    let long = max(media.pixelSize.width, media.pixelSize.height)
    let short = max(1, min(media.pixelSize.width, media.pixelSize.height))
    if media.cameraMake != nil {
      if long >= Self.panoramaSide, Double(long) / Double(short) >= Self.panoramaRatio {
        subtypes.insert(.photoPanorama)
      }
    } else {
      if Self.screenshotNames.contains(where: name.hasPrefix) { subtypes.insert(.photoScreenshot) }
    }
  }

  /// Whether the names at two paths may suggest different subtypes.
  static func mayDiffer(_ path: [UInt8], _ other: [UInt8]) -> Bool {
    let names = (name(path), name(other))
    return [screenshotNames, recordingNames].contains { prefixes in
      prefixes.contains(where: names.0.hasPrefix) != prefixes.contains(where: names.1.hasPrefix)
    }
  }

  private static func name(_ path: [UInt8]) -> String {
    String(decoding: LibraryPath.name(of: path), as: UTF8.self).lowercased()
  }
}
