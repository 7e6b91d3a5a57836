// Adds the items of an export to the library:
//
//     the same content is in the library   the properties that it lacks, and its albums: one change list
//     otherwise
//       copied into a staged upload, synced
//       one change list                    the asset, its properties and its albums: all of them, or nothing
//       sidecars, beside the original
//
// Uploads and change lists are those of the daemon, so a daemon may run meanwhile: both take the lock of the library's
// files, and the daemon announces the commits of this process within a second. A kill at any moment leaves each asset
// complete or absent, and at most one staged upload, which the daemon removes when it expires. Running the import again
// continues it, because what is in the library is recognised by its content.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import LibraryScan
import PhotoModel

package final class LibraryImporter {
  /// Bytes that are copied at a time.
  private static let copyBytes = 1 << 20
  /// The maximum length of a sidecar.
  static let maximumSidecarBytes = 16 << 20
  /// Attempts for a staged upload that the expiry of another process removes before its record is written.
  private static let attempts = 3

  /// Owns the staged uploads of imports.
  static let principal = Principal(name: "import", scopes: Set(Scope.allCases))

  private let files: LibraryFiles
  private let lists: ChangeListExecutor
  private let root: LibraryFolder
  private let probe: FileProbe
  private let report: ImportReport
  private var albums: ImportedAlbums
  private let isDryRun: Bool
  /// In a dry run: the contents that would have been added.
  private var seen: Set<FileFingerprint> = []

  /// - Parameters:
  ///   - folder: the folder of the export.
  ///   - libraryPath: the folder of the library, which must be elsewhere.
  ///   - timeZone: the zone of dates without an offset.
  ///   - isDryRun: nothing is written.
  package init(
    catalogue: Catalogue, files: LibraryFiles, folder: String, libraryPath: String, timeZone: TimeZone,
    limits: CodecLimits, isDryRun: Bool, report: ImportReport
  ) throws(ImportError) {
    let export = try ExportFolder(folder)
    try Self.checkPlaces(folder, libraryPath)
    self.files = files
    root = export.root
    self.report = report
    self.isDryRun = isDryRun
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
    try source.forEachItem(report) { item throws(ImportError) in try add(item) }
  }

  /// Refuses an export in the library, whose files a scan may find at the same time.
  private static func checkPlaces(_ folder: String, _ libraryPath: String) throws(ImportError) {
    func resolved(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path + "/" }
    let (export, library) = (resolved(folder), resolved(libraryPath))
    if export.hasPrefix(library) || library.hasPrefix(export) { throw .insideLibrary(path: folder) }
  }

  // MARK: One item

  private func add(_ item: ImportedItem) throws(ImportError) {
    let file: LibraryFile
    let media: ProbedMedia
    do {
      file = try root.open(item.path)
      guard file.isRegularFile else { return report.noteFailure(item.path, "not a regular file") }
      if file.size == 0 { return report.noteFailure(item.path, "it is empty") }
      media = try probe.media(of: file, at: Array(item.name.utf8))
    } catch let error as CodecError {
      return report.noteFailure(item.path, error.description)
    } catch {
      return report.noteFailure(item.path, "it can't be read (\(error))")
    }
    for _ in 1..<Self.attempts {
      do throws(LibraryFilesError) {
        return try add(item, file, media)
      } catch {
        // Another process removed the staged upload between the creation of its file and that of its record.
        if case .noSuchUpload = error { continue }
        throw .library(error)
      }
    }
    do throws(LibraryFilesError) { try add(item, file, media) } catch { throw .library(error) }
  }

  /// Throws errors that concern the whole library. Those of the item are reported.
  private func add(_ item: ImportedItem, _ file: LibraryFile, _ media: ProbedMedia) throws(LibraryFilesError) {
    if let asset = try files.asset(like: file, media, for: Self.principal) {
      report.noteAsset(isNew: false)
      if isDryRun { return countAlbums(of: item) }
      let update = item.metadata.update(of: KnownProperties(asset))
      _ = try perform(item, on: .existing(asset.localIdentifier), creating: nil, update)
      return try addSidecars(of: item, to: asset)
    }
    if isDryRun {
      let isNew = media.fingerprint.map { seen.insert($0).inserted } ?? true
      report.noteAsset(isNew: isNew)
      return countAlbums(of: item)
    }
    guard let upload = try stage(item, file) else { return }
    do throws(LibraryFilesError) {
      let update = item.metadata.update(of: KnownProperties(media))
      guard try perform(item, on: .placeholder("$asset"), creating: upload, update) else { return discard(upload) }
    } catch {
      discard(upload)
      throw error
    }
    report.noteAsset(isNew: true)
    if item.sidecars.isEmpty { return }
    if let asset = try files.asset(like: file, media, for: Self.principal) { try addSidecars(of: item, to: asset) }
  }

  /// Copies a file into a staged upload; `nil` if it can't be read.
  private func stage(_ item: ImportedItem, _ file: LibraryFile) throws(LibraryFilesError) -> UploadIdentifier? {
    let append = try files.stage(named: item.name, length: file.size, for: Self.principal)
    let upload = append.upload.identifier
    do throws(LibraryFilesError) {
      if let failure = try copy(file, to: append) {
        report.noteFailure(item.path, failure)
        discard(upload)
        return nil
      }
      // The date of an asset without one of its own, and the one that decides on its path.
      try append.setModificationDate(
        item.metadata.date ?? item.fileDate ?? Timestamp(milliseconds: file.identity.modified / 1_000_000))
      _ = try files.finish(append, isEnd: true)
      return upload
    } catch {
      discard(upload)
      throw error
    }
  }

  /// Returns why the file can't be read; `nil`: all of it is copied.
  private func copy(_ file: LibraryFile, to append: StagedAppend) throws(LibraryFilesError) -> String? {
    var offset: Int64 = 0
    while offset < file.size {
      let bytes: [UInt8]
      do throws(ByteSourceError) {
        bytes = try file.bytes(at: offset, count: Self.copyBytes)
      } catch {
        switch error {
        case .readFailed(let code): return "it can't be read (\(SystemError(code: code)))"
        }
      }
      if bytes.isEmpty { return "it became shorter while it was read" }
      try append.write(bytes)
      offset += Int64(bytes.count)
    }
    return file.isUnchanged ? nil : "it changed while it was read"
  }

  /// Removes a staged upload. If that fails, it is removed when it expires.
  private func discard(_ upload: UploadIdentifier) {
    do throws(LibraryFilesError) {
      try files.deleteStaged(upload, for: Self.principal)
    } catch {
      report.noteRemark("staged uploads left until they expire")
    }
  }

  // MARK: Changes

  /// Carries out the change list of an item. Returns false if the item is at fault, which is reported.
  private func perform(
    _ item: ImportedItem, on target: ChangeTarget, creating upload: UploadIdentifier?, _ update: AssetUpdate?
  ) throws(LibraryFilesError) -> Bool {
    var requests: [ChangeRequest] = []
    if let upload {
      requests.append(ChangeRequest(.createAssetFromStagedUpload(upload), placeholder: target.description))
    }
    if let update { requests.append(ChangeRequest(.updateAsset(target, update))) }
    var created: [(placeholder: String, title: String)] = []
    for album in item.albums {
      let title = albums.title(of: album)
      if let identifier = albums.identifier(titled: title) {
        requests.append(ChangeRequest(.addAssets(.existing(identifier), [target])))
      } else {
        let placeholder = "$album\(created.count)"
        created.append((placeholder, title))
        requests.append(
          ChangeRequest(.createCollection(NewCollection(isFolder: false, title: title)), placeholder: placeholder))
        requests.append(ChangeRequest(.addAssets(.placeholder(placeholder), [target])))
      }
    }
    if requests.isEmpty { return true }
    do throws(ChangeListError) {
      let outcome = try lists.perform(requests, for: Self.principal)
      for (placeholder, title) in created {
        guard let identifier = outcome.created[placeholder] else { continue }
        albums.made(identifier, titled: title)
        report.noteAlbum()
      }
      return true
    } catch {
      switch error.reason {
      case .source(let failure): throw .catalogue(failure)
      case .files(.notMedia(let reason)), .files(.damagedMedia(let reason)): report.noteFailure(item.path, reason)
      case .files(let failure): throw failure
      default: report.noteFailure(item.path, "the change was refused (\(error.reason))")
      }
      return false
    }
  }

  private func countAlbums(of item: ImportedItem) {
    for album in item.albums {
      let title = albums.title(of: album)
      if albums.identifier(titled: title) != nil { continue }
      albums.made(LocalIdentifier("new"), titled: title)
      report.noteAlbum()
    }
  }

  // MARK: Sidecars

  private func addSidecars(of item: ImportedItem, to asset: Asset) throws(LibraryFilesError) {
    for sidecar in item.sidecars {
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try ExportFolder.read(sidecar.path, in: root, limit: Self.maximumSidecarBytes)
      } catch {
        report.noteFailure(sidecar.path, "the sidecar can't be read (\(error))")
        continue
      }
      let result = try files.addSidecar(bytes, extension: sidecar.fileExtension, beside: asset.original.path)
      switch result {
      case .added: report.noteSidecar()
      case .unchanged: break
      case .kept: report.noteSkip(sidecar.path, "the library has another file of that name beside the picture")
      }
    }
  }
}
