import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import PhotoModel

/// Copies the files of an export into staged uploads of the library.
struct ImportStaging {
  /// Bytes that are copied at a time.
  private static let copyBytes = 1 << 20

  let files: LibraryFiles
  let report: ImportReport

  /// Copies a file into a staged upload; `nil` if it can't be read.
  func stage(_ item: ImportedItem, _ file: LibraryFile) throws(LibraryFilesError) -> UploadIdentifier? {
    let append = try files.stage(named: item.name, length: file.size, for: LibraryImporter.principal)
    let upload = append.upload.identifier
    do throws(LibraryFilesError) {
      if let failure = try copy(file, to: append) {
        report.noteFailure(item.path, failure)
        discard(upload)
        return nil
      }
      // The modification time becomes the date of an asset without a date of its own.
      try append.setModificationDate(
        item.metadata.date?.moment ?? Timestamp(milliseconds: file.identity.modified / 1_000_000))
      _ = try files.finish(append, isEnd: true)
      return upload
    } catch {
      discard(upload)
      throw error
    }
  }

  /// Copies the whole file. Returns the reason if it can't be read.
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

  /// Removes a staged upload. If that fails, it stays until it expires.
  func discard(_ upload: UploadIdentifier) {
    do throws(LibraryFilesError) {
      try files.deleteStaged(upload, for: LibraryImporter.principal)
    } catch {
      report.noteRemark("staged uploads left until they expire")
    }
  }
}
