// photod export-metadata: writes XMP sidecars for the assets of a catalogue into a folder, which may be the library's
// own. `a/b.jpg` gets `a/b.jpg.xmp`. Originals are not opened. A sidecar appears under its name complete or not at all.
//
// In the library's own folder, nothing is written below the mount point of a missing disk, which would hide the
// sidecars once it is mounted.
//
// A sidecar of another program is kept unless the caller asks to replace it. An existing file that is not XMP is always
// kept, because it may be an original with that name.

import DurableFiles
import LibraryCatalogue
import LibraryFolder
import LibraryScan
import PhotoModel
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

package struct MetadataExport {
  package struct Options: Sendable, Hashable {
    /// Also coordinates and names of places.
    package var includesLocations = false
    /// Only assets with a value that a user set in photod.
    package var includesOnlyEdited = false
    /// Replace sidecars that another program wrote.
    package var replacesForeign = false

    package init() {}
  }

  package struct Summary: Sendable, Hashable {
    package var written = 0
    /// Sidecars that have the same content already.
    package var unchanged = 0
    /// Files that photod did not write and did not replace.
    package var kept = 0
    package var failed = 0
  }

  /// Why one sidecar was not written.
  package enum Failure: Sendable, Hashable, CustomStringConvertible {
    /// A sidecar of another program.
    case foreign
    /// A file that is not XMP, possibly an original.
    case notXMP
    /// In the library's own folder: its disk is not mounted.
    case diskMissing
    case system(SystemError)

    package var description: String {
      switch self {
      case .foreign: "another program wrote this file; --overwrite replaces it"
      case .notXMP: "a file that is not XMP has this name"
      case .diskMissing: "the disk of its original is missing; mount it and export again"
      case .system(let error): error.description
      }
    }
  }

  /// Assets that are read at a time.
  private static let pageSize = 500
  /// The number of first bytes of an existing file that are read to detect its kind.
  private static let headBytes = 4096
  /// Bytes of an existing file that are read to compare it: more than any sidecar has.
  private static let sidecarBytes: Int64 = 1 << 20

  private let catalogue: Catalogue
  private let options: Options
  private let target: LibraryFolder
  private let isInLibrary: Bool

  /// - Parameters:
  ///   - catalogue: may be opened read-only.
  ///   - folder: an existing folder.
  ///   - library: the library's folder, which may be the same one under another name. Empty if it is not known.
  package init(
    catalogue: Catalogue, to folder: String, library: String, options: Options
  ) throws(SystemError) {
    self.catalogue = catalogue
    self.options = options
    target = try LibraryFolder(path: folder)
    isInLibrary = FileNumber(folder).map { $0 == FileNumber(library) } ?? false
  }

  /// Writes the sidecars. Blocks; holds one page of assets in memory.
  ///
  /// - Parameter report: gets the path below the folder of each sidecar that was not written, and the reason.
  package func run(_ report: (_ path: [UInt8], Failure) -> Void) throws(AssetSourceError) -> Summary {
    var fetch = AssetFetch()
    fetch.includesHidden = true
    fetch.includesAllBurstAssets = true
    var summary = Summary()
    let calendar = try catalogue.localCalendar()
    let disks = try MountCheck(catalogue: catalogue, root: target, environment: .system)
    var cursor: PageCursor?
    repeat {
      let page = try catalogue.assets(fetch, FetchPageRequest(limit: Self.pageSize, cursor: cursor), for: .local)
      // For each page, because a disk may be unmounted during a long export.
      let missingDisks = try isInLibrary ? disks.missingMounts() : []
      for asset in page.assets where !options.includesOnlyEdited || isEdited(asset) {
        let sidecar = XMPSidecar(asset, includesLocation: options.includesLocations, calendar: calendar)
        if sidecar.isEmpty || VacantPath.isVacant(asset.original.path) { continue }
        let path = asset.original.path + Array(".xmp".utf8)
        if disks.isPath(path, onOneOf: missingDisks) {
          summary.failed += 1
          report(path, .diskMissing)
        } else {
          write(sidecar, at: path, &summary, report)
        }
      }
      cursor = page.nextCursor
    } while cursor != nil
    return summary
  }

  private func isEdited(_ asset: Asset) -> Bool {
    !asset.userFields.isEmpty || asset.isFavorite || asset.creationDateSource == .user
      || options.includesLocations && asset.hasUserLocation
  }

  private func write(
    _ sidecar: XMPSidecar, at path: [UInt8], _ summary: inout Summary, _ report: ([UInt8], Failure) -> Void
  ) {
    do throws(SystemError) {
      let folder = try target.openMakingFolders(LibraryPath.folder(of: path))
      let name = LibraryPath.name(of: path)
      let bytes = Array(sidecar.document.utf8)
      let exists = try hasEntry(name, in: folder)
      if exists {
        let (current, kind) = try existing(path)
        if current.elementsEqual(bytes) {
          summary.unchanged += 1
          return
        }
        guard kind.isXMP, kind.isOwn || options.replacesForeign else {
          summary.kept += 1
          return report(path, kind.isXMP ? .foreign : .notXMP)
        }
      }
      try place(bytes, in: folder, as: name, replacing: exists)
      summary.written += 1
    } catch {
      summary.failed += 1
      report(path, .system(error))
    }
  }

  private func hasEntry(_ name: [UInt8], in folder: LibraryFile) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try folder.entry(name)
      return true
    } catch {
      guard error.code == ENOENT else { throw error }
      return false
    }
  }

  /// A file's bytes, and its kind.
  private func existing(_ path: [UInt8]) throws(SystemError) -> ([UInt8], (isXMP: Bool, isOwn: Bool)) {
    let file = try target.open(path)
    guard file.isRegularFile else { return ([], (false, false)) }
    do throws(ByteSourceError) {
      let bytes = try file.bytes(at: 0, count: Int(min(file.size, Self.sidecarBytes)))
      return (bytes, XMPSidecar.kind(of: bytes.prefix(Self.headBytes)))
    } catch {
      switch error {
      case .readFailed(let code): throw SystemError(code: code)
      }
    }
  }

  /// Writes a file under another name and renames it. It is not synced: after a power failure the export is repeated.
  private func place(
    _ bytes: [UInt8], in folder: LibraryFile, as name: [UInt8], replacing: Bool
  ) throws(SystemError) {
    let temporary = Array(".photod-\(Base64URL.randomIdentifier()).part".utf8)
    let descriptor = try folder.create(temporary)
    do throws(SystemError) {
      defer { close(descriptor) }
      try writeAll(bytes.span.bytes, to: descriptor)
    } catch {
      try? folder.remove(temporary)
      throw error
    }
    do throws(SystemError) {
      if replacing {
        try folder.replace(name, with: temporary)
      } else {
        try folder.rename(temporary, to: folder, as: name)
      }
    } catch {
      try? folder.remove(temporary)
      throw error
    }
  }
}
