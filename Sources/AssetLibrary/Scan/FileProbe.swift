// What a file says of itself: its header and its metadata, never a pixel.

import Dispatch
import Foundation
import ImageCodec
import LibraryFolder
import MediaMetadata
import PhotoModel
import Synchronization

struct FileProbe: Sendable {
  let root: LibraryFolder
  let limits: CodecLimits
  private let clock: WallClock

  /// - Parameter timeZone: what dates without an offset are in.
  init(root: LibraryFolder, limits: CodecLimits, timeZone: TimeZone) {
    self.root = root
    self.limits = limits
    clock = WallClock(timeZone: timeZone)
  }

  /// What findings depend on beside the files: a scan with another mark reads every file anew.
  var mark: String { "4 \(clock.timeZone.identifier) \(limits.headerSegments)" }

  /// Reads as many at once as there are cores; the results are in the order of the files.
  func probe(_ files: [WalkedFile]) -> [ProbedFile] {
    let results = Mutex<[ProbedFile?]>(Array(repeating: nil, count: files.count))
    DispatchQueue.concurrentPerform(iterations: files.count) { i in
      let result = probe(files[i])
      results.withLock { $0[i] = result }
    }
    return results.withLock { $0.compactMap(\.self) }
  }

  /// Opens and reads one file. Whatever is wrong with it becomes its finding; what is wrong with its surroundings too,
  /// but under an identity that makes the next scan try again.
  func probe(_ file: WalkedFile) -> ProbedFile {
    do {
      let opened = try root.open(file.path)
      // The identity of what was read, should it have been replaced since it was walked past.
      let identity = opened.identity
      guard opened.isRegularFile else {
        return ProbedFile(path: file.path, identity: identity, finding: .unreadable("not a regular file"))
      }
      do throws(CodecError) {
        return ProbedFile(path: file.path, identity: identity, finding: .media(try media(of: opened, at: file.path)))
      } catch {
        let isPassing = if case .readFailed = error { true } else { error == .outOfMemory }
        return ProbedFile(
          path: file.path, identity: isPassing ? .unknown : identity, finding: .unreadable(error.description))
      }
    } catch {
      return ProbedFile(path: file.path, identity: .unknown, finding: .unreadable("\(error)"))
    }
  }

  /// What an open file says of itself.
  func media(of file: LibraryFile, at path: [UInt8]) throws(CodecError) -> ProbedMedia {
    // A picture over a limit is an asset all the same: whoever asks for it is told by name why it isn't shown.
    let header = try MediaHeader.read(from: file, limits: limits.headerAlone)
    var media = media(header, file.identity, path)
    do throws(ByteSourceError) {
      media.fingerprint = try Fingerprint(of: file)
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
    return media
  }

  private func media(_ header: MediaHeader, _ identity: FileIdentity, _ path: [UInt8]) -> ProbedMedia {
    let modified = Timestamp(milliseconds: identity.modified / 1_000_000)
    let date =
      header.exif.date.map { clock.date($0, source: .metadata) }
      ?? header.containerDate.map { clock.date($0, source: .container) }
      ?? CreationDate(moment: modified, source: .file)
    var media = ProbedMedia(
      uniformTypeIdentifier: header.format.uniformTypeIdentifier, mediaType: header.format.mediaType,
      mediaSubtypes: header.facts.subtypes, isRAW: header.format.isRAW, pixelSize: header.uprightSize,
      orientation: header.orientation, hasAlpha: header.hasAlpha, durationSeconds: header.durationSeconds, date: date,
      modificationDate: modified, location: header.exif.location, cameraMake: header.exif.make,
      cameraModel: header.exif.model, thumbnail: header.thumbnail,
      contentIdentifier: header.facts.contentIdentifier, burst: header.facts.burstIdentifier)
    media.mediaSubtypes.formUnion(SubtypeGuess(media, path: path).subtypes)
    return media
  }
}

/// What a picture is by its looks, where its file does not say.
struct SubtypeGuess {
  /// No sensor and no screen is as wide as that; a picture of a camera that is was put together out of several.
  private static let panoramaRatio = 2.5
  /// A narrow strip that was cut out of a picture is no panorama.
  private static let panoramaSide = 3000
  /// What Android, GNOME, KDE, Windows and macOS call them.
  private static let screenshotNames = ["screenshot", "screen shot", "screen_shot"]

  private(set) var subtypes: MediaSubtypes = []

  init(_ media: ProbedMedia, path: [UInt8]) {
    guard media.mediaType == .image else { return }
    let long = max(media.pixelSize.width, media.pixelSize.height)
    let short = max(1, min(media.pixelSize.width, media.pixelSize.height))
    if media.cameraMake != nil {
      if long >= Self.panoramaSide, Double(long) / Double(short) >= Self.panoramaRatio {
        subtypes.insert(.photoPanorama)
      }
    } else {
      let name = String(decoding: path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...], as: UTF8.self)
      if Self.screenshotNames.contains(where: name.lowercased().hasPrefix) { subtypes.insert(.photoScreenshot) }
    }
  }
}
