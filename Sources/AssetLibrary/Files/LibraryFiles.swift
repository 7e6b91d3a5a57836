// The library's files, as far as they are written: what is uploaded, deleted, restored and purged. It is the only door to
// them; everything else reads.

import Foundation
import ImageCodec
import LibraryFolder
import Logging
import PhotoModel

package final class LibraryFiles: Sendable {
  package struct Options: Sendable, Hashable {
    /// The library is never written, whoever asks.
    package var isReadOnly = false
    /// Days after which what is in the trash goes for good.
    package var trashDays = 30
    /// So much of the disk is left free by uploads.
    package var reserveBytes: Int64 = 256 << 20
    /// Where uploads go.
    package var template = UploadTemplate.standard

    package init() {}
  }

  let catalogue: Catalogue
  let directory: String
  let root: LibraryFolder
  let options: Options
  let probe: FileProbe
  let timeZone: TimeZone
  let logger: Logger

  /// - Parameters:
  ///   - directory: the library's folder.
  ///   - timeZone: what dates without an offset are in.
  package init(
    catalogue: Catalogue, directory: String, timeZone: String, limits: CodecLimits, options: Options, logger: Logger
  ) throws(AssetLibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    do throws(SystemError) {
      root = try LibraryFolder(path: directory)
    } catch {
      throw .libraryUnavailable(path: directory, error)
    }
    self.catalogue = catalogue
    self.directory = directory
    self.options = options
    self.logger = logger
    self.timeZone = zone
    probe = FileProbe(root: root, limits: limits, timeZone: zone)
  }

  /// Whether the library may only be read now: by the settings, or because its file system is mounted so.
  package var isReadOnly: Bool {
    if options.isReadOnly { return true }
    let space = try? root.open([], isFolder: true).freeSpace()
    return space?.isReadOnly ?? false
  }
}
