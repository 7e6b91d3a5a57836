// Adds the items of an export to the library, after a scan if the first one is not complete:
//
//     the same content is in the library   the properties that it lacks, and its albums: one change list
//     it is in the trash, or was purged    nothing: a user has deleted it
//     otherwise
//       copied into a staged upload, synced
//       one change list                    the asset, its properties and its albums: all of them, or nothing
//       sidecars, beside the original
//
// The companions of an item follow: they are copied beside its file. If the library already has one of them, for
// example from an earlier part of the export, the item is copied beside it and joins its asset.
//
// An import uses the same uploads and change lists as the daemon, which may run at the same time: both take the lock of
// the library's files, and the daemon announces the commits of this process within a second. A kill at any moment
// leaves each asset complete or absent, and at most one staged upload, which the daemon removes when it expires.
// Running the import again continues it, because what is in the library is recognised by its content.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import LibraryScan
import PhotoModel

package final class LibraryImporter {
  /// The maximum length of a sidecar.
  static let maximumSidecarBytes = 16 << 20
  /// Attempts for a staged upload that the expiry of another process removes before its record is written.
  private static let attempts = 3
  private static let separatePart = "videos and RAW files that stay assets apart from their pictures"

  /// Why a file is not imported.
  private struct ItemFailure: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  /// Owns the staged uploads of imports.
  static let principal = Principal(name: "import", scopes: Set(Scope.allCases))

  let catalogue: Catalogue
  let libraryPath: String
  let files: LibraryFiles
  private let staging: ImportStaging
  let scanner: LibraryScanner
  private let lists: ChangeListExecutor
  let root: LibraryFolder
  let probe: FileProbe
  private let timeZone: TimeZone
  private let report: ImportReport
  private var albums: ImportedAlbums
  let isDryRun: Bool
  private let includesDeleted: Bool
  /// The trash, if this import leaves out what users have deleted; `nil`: it leaves out nothing.
  private var trash: TrashContents?
  /// In a dry run: the contents that would have been added.
  private var seen: Set<FileFingerprint> = []

  /// - Parameters:
  ///   - scanner: of the library.
  ///   - folder: the folder of the export.
  ///   - libraryPath: the folder of the library, which must be elsewhere.
  ///   - timeZone: the zone of dates without an offset.
  ///   - isDryRun: nothing is written.
  ///   - includesDeleted: also imports what was deleted in photod.
  package init(
    catalogue: Catalogue, files: LibraryFiles, scanner: LibraryScanner, folder: String, libraryPath: String,
    timeZone: TimeZone, limits: CodecLimits, isDryRun: Bool, includesDeleted: Bool = false, report: ImportReport
  ) throws(ImportError) {
    let export = try ExportFolder(folder)
    try Self.checkPlaces(folder, libraryPath)
    self.files = files
    self.scanner = scanner
    self.catalogue = catalogue
    self.libraryPath = libraryPath
    root = export.root
    self.report = report
    staging = ImportStaging(files: files, report: report)
    self.timeZone = timeZone
    self.isDryRun = isDryRun
    self.includesDeleted = includesDeleted
    lists = ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits())
    probe = FileProbe(root: root, limits: limits, timeZone: timeZone)
    do throws(AssetSourceError) {
      albums = try ImportedAlbums(catalogue, Self.principal)
    } catch {
      throw .library(.catalogue(error))
    }
  }

  /// Imports everything that a source finds.
  package func run(_ source: some ImportSource) throws(ImportError) {
    if !isDryRun && files.isReadOnly { throw .library(.readOnly) }
    try checkTimeZone()
    try completeFirstScan()
    do throws(AssetSourceError) {
      trash = try includesDeleted ? nil : catalogue.trashContents()
    } catch {
      throw .library(.catalogue(error))
    }
    try source.forEachItem(report) { item throws(ImportError) in try add(item) }
  }

  // MARK: One item

  /// The result for a file.
  private enum FileResult {
    /// It is a part of this asset now.
    case asset(LocalIdentifier)
    /// A dry run would make it a new asset.
    case new
    /// A user has deleted it, or the picture whose companion it is, so it was left out.
    case deleted(isInTrash: Bool)

    var assetIdentifier: LocalIdentifier? { if case .asset(let asset) = self { asset } else { nil } }
    var isNew: Bool { if case .new = self { true } else { false } }
  }

  private func add(_ item: ImportedItem) throws(ImportError) {
    let result = try addFile(item, beside: nil)
    for companion in item.companions { _ = try addFile(companion, beside: result) }
  }

  /// - Parameter picture: what became of the picture whose companion the file is.
  /// - Returns: `nil` for a new file in a dry run, and after a failure, which is reported.
  private func addFile(_ item: ImportedItem, beside picture: FileResult?) throws(ImportError) -> FileResult? {
    let file: LibraryFile
    let media: ProbedMedia
    do {
      file = try root.open(item.path)
      guard file.isRegularFile else { throw ItemFailure("not a regular file") }
      if file.size == 0 { throw ItemFailure("it is empty") }
      media = try probe.media(of: file, at: Array(item.name.utf8))
    } catch let error as CodecError {
      if error.isOfFile, ExportFileName.isOtherFormat(LibraryPath.display(item.path)) {
        report.noteUnsupported(item.path)
      } else {
        report.noteFailure(item.path, error.description)
      }
      return nil
    } catch let error as ItemFailure {
      report.noteFailure(item.path, error.reason)
      return nil
    } catch {
      report.noteFailure(item.path, "it can't be read (\(error))")
      return nil
    }
    for _ in 1..<Self.attempts {
      do throws(LibraryFilesError) {
        return try add(item, file, media, beside: picture)
      } catch {
        // Another process removed the staged upload between the creation of its file and that of its record.
        if case .noSuchUpload = error { continue }
        throw .library(error)
      }
    }
    do throws(LibraryFilesError) { return try add(item, file, media, beside: picture) } catch { throw .library(error) }
  }

  /// Throws errors that concern the whole library. Those of the item are reported.
  private func add(
    _ item: ImportedItem, _ file: LibraryFile, _ media: ProbedMedia, beside picture: FileResult?
  ) throws(LibraryFilesError) -> FileResult? {
    if let existing = try addExisting(item, file, media, beside: picture) { return existing }
    if let deleted = try leaveOutDeleted(item, file, media, beside: picture) { return deleted }
    let isUndated = item.metadata.date == nil && media.date.source == .file
    if isDryRun { return countNew(item, media, isUndated: isUndated, beside: picture) }
    return try addNew(item, file, media, isUndated: isUndated, beside: picture?.assetIdentifier)
  }

  /// Adds an item to the asset that has its content; `nil` if there is none.
  private func addExisting(
    _ item: ImportedItem, _ file: LibraryFile, _ media: ProbedMedia, beside picture: FileResult?
  ) throws(LibraryFilesError) -> FileResult? {
    let partner = picture?.assetIdentifier
    // No asset has the empty identifier: RAW files and videos of other pictures do not count.
    let owner = picture?.isNew == true ? LocalIdentifier("") : partner
    let found = try files.assetAndPath(like: file, media, for: Self.principal, asPartOf: owner)
    guard let (asset, path) = found else { return nil }
    report.noteAsset(isNew: false)
    if let partner, asset.localIdentifier != partner, isSeparatePart(asset, path) {
      report.noteRemark(Self.separatePart)
    }
    if isDryRun {
      countAlbums(of: item)
      return .asset(asset.localIdentifier)
    }
    if asset.localIdentifier != partner { try describe(asset, item) }
    try addSidecars(of: item, beside: path)
    return .asset(asset.localIdentifier)
  }

  /// Reports and leaves out an item that a user has deleted, or whose picture one has deleted; `nil` for any other
  /// item.
  private func leaveOutDeleted(
    _ item: ImportedItem, _ file: LibraryFile, _ media: ProbedMedia, beside picture: FileResult?
  ) throws(LibraryFilesError) -> FileResult? {
    if let trash {
      let isInTrash = try files.isInTrash(file, media, trash)
      if try isInTrash ? true : files.wasPurged(file, media) {
        report.noteDeleted(item.path, isInTrash: isInTrash)
        return .deleted(isInTrash: isInTrash)
      }
    }
    // Without its picture it would come back as an asset of its own.
    guard case .deleted(let isInTrash)? = picture else { return nil }
    report.noteDeleted(item.path, isInTrash: isInTrash)
    return picture
  }

  /// In a dry run: counts an item that would be new.
  private func countNew(
    _ item: ImportedItem, _ media: ProbedMedia, isUndated: Bool, beside picture: FileResult?
  ) -> FileResult? {
    let isFirst = media.fingerprint.map { seen.insert($0).inserted } ?? true
    let isNew = isFirst || picture?.isNew == true
    report.noteAsset(isNew: isNew)
    let isPart = picture != nil && canBePart(media)
    if isNew && isUndated && !isPart { report.noteUndated(item.path) }
    countAlbums(of: item)
    return isNew ? .new : nil
  }

  /// - Parameter partner: the asset of the picture whose companion the item is.
  private func addNew(
    _ item: ImportedItem, _ file: LibraryFile, _ media: ProbedMedia, isUndated: Bool, beside partner: LocalIdentifier?
  ) throws(LibraryFilesError) -> FileResult? {
    let earlier = try earlierPart(of: item)
    guard let upload = try staging.stage(item, file) else { return nil }
    let created: LocalIdentifier?
    do throws(LibraryFilesError) {
      created = try create(item, media, upload, beside: partner ?? earlier)
    } catch {
      staging.discard(upload)
      throw error
    }
    guard let created else {
      staging.discard(upload)
      return nil
    }
    report.noteAsset(isNew: true)
    let hasJoined = created == partner
    if isUndated && !hasJoined { report.noteUndated(item.path) }
    let isDescribed = hasJoined || partner == nil && earlier == nil
    if isDescribed && item.sidecars.isEmpty { return .asset(created) }
    if let (asset, path) = try files.assetAndPath(like: file, media, for: Self.principal, asPartOf: created) {
      if !isDescribed { try describe(asset, item) }
      try addSidecars(of: item, beside: path)
    }
    return .asset(created)
  }

  /// Creates the asset of a staged upload, with its properties and albums unless it has a partner.
  private func create(
    _ item: ImportedItem, _ media: ProbedMedia, _ upload: UploadIdentifier, beside partner: LocalIdentifier?
  ) throws(LibraryFilesError) -> LocalIdentifier? {
    let target = ChangeTarget.placeholder("$asset")
    var changes = Changes(target: target)
    let update = item.metadata.update(of: KnownProperties(media), in: timeZone)
    let action = ChangeRequest.Action.createAssetFromStagedUpload(
      upload, beside: partner, needsOwnStem: item.needsOwnStem, day: update?.day(of: media, in: timeZone))
    changes.requests.append(ChangeRequest(action, placeholder: target.description))
    if partner == nil {
      changes.update(update)
    } else if item.metadata.isHidden {
      // From the first moment, also if it can't join. The asset that it joins is hidden for the same reason.
      changes.update(AssetUpdate(isHidden: true))
    }
    return try perform(changes, of: item, inAlbums: partner == nil)?.created[target.description]
  }

  /// Adds what an asset lacks: properties and albums.
  private func describe(_ asset: Asset, _ item: ImportedItem) throws(LibraryFilesError) {
    var changes = Changes(target: .existing(asset.localIdentifier))
    changes.update(item.metadata.update(of: KnownProperties(asset), in: timeZone))
    _ = try perform(changes, of: item, inAlbums: true)
  }

  // MARK: Changes

  /// A change list that concerns one asset.
  private struct Changes {
    let target: ChangeTarget
    var requests: [ChangeRequest] = []
    var newAlbums: [(placeholder: String, album: ImportedAlbum, title: String)] = []
    /// Albums of the library that this import has found by their title.
    var foundAlbums: [ImportedAlbum] = []

    mutating func update(_ update: AssetUpdate?) {
      if let update { requests.append(ChangeRequest(.updateAsset(target, update))) }
    }
  }

  private func addToAlbums(_ item: ImportedItem, _ changes: inout Changes) {
    for album in item.albums {
      if albums.wasDeleted(album) {
        report.noteRemark("files that are not in an album because it was deleted during the import")
        continue
      }
      if let identifier = albums.identifier(of: album) {
        changes.requests.append(ChangeRequest(.addAssets(.existing(identifier), [changes.target])))
        if albums.needsRecord(album) {
          let update = CollectionUpdate(importKey: album.key)
          changes.requests.append(ChangeRequest(.updateCollection(.existing(identifier), update)))
          changes.foundAlbums.append(album)
        }
        continue
      }
      let placeholder = "$album\(changes.newAlbums.count)"
      let title = albums.title(of: album)
      changes.newAlbums.append((placeholder, album, title))
      let new = NewCollection(isFolder: false, title: title, importKey: album.key)
      changes.requests.append(ChangeRequest(.createCollection(new), placeholder: placeholder))
      changes.requests.append(ChangeRequest(.addAssets(.placeholder(placeholder), [changes.target])))
    }
  }

  /// Carries out changes of an asset, and adds it to the albums of its item. Returns `nil` if there is nothing to do,
  /// or if the item is at fault, which is reported.
  private func perform(
    _ assetChanges: Changes, of item: ImportedItem, inAlbums: Bool
  ) throws(LibraryFilesError) -> ChangeOutcome? {
    while true {
      var changes = assetChanges
      if inAlbums { addToAlbums(item, &changes) }
      if changes.requests.isEmpty { return nil }
      do throws(ChangeListError) {
        let outcome = try lists.perform(changes.requests, for: Self.principal)
        for (placeholder, album, title) in changes.newAlbums {
          guard let identifier = outcome.created[placeholder] else { continue }
          albums.made(identifier, of: album, titled: title)
          report.noteAlbum()
        }
        for album in changes.foundAlbums { albums.recorded(album) }
        return outcome
      } catch {
        switch error.reason {
        case .source(let failure): throw .catalogue(failure)
        case .files(.notMedia(let reason)), .files(.damagedMedia(let reason)): report.noteFailure(item.path, reason)
        case .files(let failure): throw failure
        case .noSuchCollection(let album):
          // A user has deleted it meanwhile. The next attempt has one album less.
          if albums.noteDeletion(of: LocalIdentifier(album)) { continue }
          report.noteFailure(item.path, "the change was refused (\(error.reason))")
        default: report.noteFailure(item.path, "the change was refused (\(error.reason))")
        }
        return nil
      }
    }
  }

  private func countAlbums(of item: ImportedItem) {
    for album in item.albums where albums.identifier(of: album) == nil {
      albums.made(LocalIdentifier("new"), of: album, titled: albums.title(of: album))
      report.noteAlbum()
    }
  }

  // MARK: Sidecars

  /// - Parameter path: of the item's file in the library.
  private func addSidecars(of item: ImportedItem, beside path: [UInt8]) throws(LibraryFilesError) {
    for sidecar in item.sidecars {
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try ExportFolder.read(sidecar.path, in: root, limit: Self.maximumSidecarBytes)
      } catch {
        report.noteFailure(sidecar.path, "the sidecar can't be read (\(error))")
        continue
      }
      var result = try files.addSidecar(bytes, sidecar.form, extension: sidecar.fileExtension, beside: path)
      // Under the whole name, it describes only this picture. Adjustment data have no such name.
      if result == .shared, sidecar.fileExtension.lowercased() == "xmp" {
        result = try files.addSidecar(bytes, .wholeName, extension: sidecar.fileExtension, beside: path)
      }
      switch result {
      case .added: report.noteSidecar()
      case .unchanged: break
      case .kept: report.noteSkip(sidecar.path, "the library has another file of that name beside the picture")
      case .shared:
        report.noteSkip(sidecar.path, "it would also change another picture or video of the library that has its name")
      }
    }
  }
}
