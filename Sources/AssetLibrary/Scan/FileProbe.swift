// What a file says of itself: its header and its EXIF block, never a pixel.

import Foundation
import ImageCodec
import LibraryFolder
import MediaMetadata
import PhotoModel

struct FileProbe: Sendable {
  let root: LibraryFolder
  let limits: CodecLimits
  /// For dates that name no offset.
  let timeZone: TimeZone

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
        // A picture over a limit is an asset all the same: whoever asks for it is told by name why it isn't shown.
        let header = try ImageHeader.read(from: opened, limits: limits.headerAlone)
        return ProbedFile(path: file.path, identity: identity, finding: .image(image(header, identity)))
      } catch {
        let isPassing = if case .readFailed = error { true } else { error == .outOfMemory }
        return ProbedFile(
          path: file.path, identity: isPassing ? .unknown : identity, finding: .unreadable(error.description))
      }
    } catch {
      return ProbedFile(path: file.path, identity: .unknown, finding: .unreadable("\(error)"))
    }
  }

  /// What findings depend on beside the files: a scan with another mark reads every file anew.
  var mark: String {
    "3 \(timeZone.identifier) \(limits.headerSegments)"
  }

  private func image(_ header: ImageHeader, _ identity: FileIdentity) -> ProbedImage {
    let modified = Timestamp(milliseconds: identity.modified / 1_000_000)
    let (date, source) = header.metadata.date.map(timestamp) ?? (modified, .file)
    return ProbedImage(
      uniformTypeIdentifier: header.format.uniformTypeIdentifier, pixelSize: header.uprightSize,
      orientation: header.orientation, hasAlpha: header.hasAlpha, creationDate: date, creationDateSource: source,
      modificationDate: modified, location: header.metadata.location, cameraMake: header.metadata.make,
      cameraModel: header.metadata.model, thumbnail: header.embeddedThumbnail)
  }

  private func timestamp(_ date: EXIFDate) -> (Timestamp, DateSource) {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = date.offsetMinutes.flatMap { TimeZone(secondsFromGMT: $0 * 60) } ?? timeZone
    let components = DateComponents(
      year: date.year, month: date.month, day: date.day, hour: date.hour, minute: date.minute, second: date.second)
    guard let moment = calendar.date(from: components) else {
      return (Timestamp(milliseconds: 0), .metadataInLibraryZone)
    }
    return (
      Timestamp(milliseconds: Int64(moment.timeIntervalSince1970) * 1000 + Int64(date.millisecond)),
      date.offsetMinutes == nil ? .metadataInLibraryZone : .metadata
    )
  }
}
