// Uploads of callers that see only some collections. Such a caller does not see an asset that it makes until it puts it
// into one of its albums, and must not learn which other files exist.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

extension LibraryFiles {
  /// The number of characters from the end of a caller's name that the names of its files end with.
  private static let callerSuffixLength = 8

  /// The path that the template gives to a new file, if it is free.
  ///
  /// The number after a name that is taken would show a limited caller that another file has the name. The names of its
  /// files therefore end with the end of the caller's own name, so that only its own files can have taken them. A RAW
  /// file, picture or video keeps the name of the photograph that it belongs to, if the caller sees that and the name
  /// is free.
  ///
  /// - Parameters:
  ///   - name: a result of ``UploadFilename``.
  ///   - file: the received file; `nil` for a staged upload, whose record completes an interrupted one.
  ///   - day: the day of the asset in days since 1970, if not that of the file.
  func uploadPath(
    for name: [UInt8], _ media: ProbedMedia, like file: LibraryFile? = nil, on day: Int? = nil,
    for principal: Principal
  ) throws(LibraryFilesError) -> [UInt8] {
    let ownDay = LocalCalendar(timeZone: timeZone).day(of: media.date.moment, utcOffset: media.date.utcOffset)
    let path = options.template.path(for: name, day: day ?? ownDay, camera: media.cameraModel)
    guard principal.may(.read), principal.visibility != .everything else { return path }
    let isPart = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.isPartOfPhotograph(media, at: path, for: principal)
    }
    // A taken name would get a number, which shows that another file has it. A file with the same bytes and without an
    // asset is what an interrupted upload has left, and is taken over.
    if isPart, try !isKnown(path) {
      if try !exists(path) { return path }
      if let file, try hasSameBytes(file, at: path) { return path }
    }
    let suffix = UploadFilename.component("-\(principal.name.suffix(Self.callerSuffixLength))")
    return LibraryPath.join(
      LibraryPath.folder(of: path), LibraryPath.suffixed(LibraryPath.name(of: path), with: Array(suffix.utf8)))
  }

  /// Remembers that a limited caller made an asset that it does not see.
  package func noteUpload(_ asset: LocalIdentifier, by principal: Principal) {
    noteUpload(asset, by: principal, now: .now)
  }

  func noteUpload(_ asset: LocalIdentifier, by principal: Principal, now: ContinuousClock.Instant) {
    guard principal.may(.read), principal.visibility != .everything else { return }
    do throws(AssetSourceError) {
      // If the caller sees the asset, it may be another caller's, which the file has joined.
      guard try catalogue.asset(asset, for: principal) == nil else { return }
    } catch {
      logger.warning("remembering the sender of an upload failed", metadata: ["error": "\(error)"])
      return
    }
    finished.addUploader(principal.name, of: asset, now: now)
  }

  package func isUpload(_ asset: LocalIdentifier, of principal: Principal) -> Bool {
    finished.isUploader(principal.name, of: asset, now: .now)
  }

  /// Whether a limited caller made an asset that it does not see. True if the catalogue can't be read, because the
  /// response then reveals less.
  func isUnseenUpload(_ asset: LocalIdentifier, of principal: Principal, now: ContinuousClock.Instant) -> Bool {
    guard finished.isUploader(principal.name, of: asset, now: now) else { return false }
    do throws(AssetSourceError) {
      return try catalogue.asset(asset, for: principal) == nil
    } catch {
      return true
    }
  }
}
