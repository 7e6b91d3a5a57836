// Errors for the log: what failed, and where.

import LibraryFolder

extension LibraryFilesError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .readOnly: "the library is read-only"
    case .busy: "a scan or another process has held files.lock for too long; try again later"
    case .noSuchAsset(let asset): "no such asset: \(asset)"
    case .notInTrash(let asset): "not in the trash: \(asset)"
    case .noSuchFile(let path): "no such file: \(LibraryPath.display(path))"
    case .diskMissing(let path): "the disk of \(LibraryPath.display(path)) is missing"
    case .linkedFile(let path): "the file of another asset, reached through a link: \(LibraryPath.display(path))"
    case .linkedFolder(let path):
      "\(LibraryPath.display(path)) is a link out of the library; replace it by a mount or by the folder"
    case .fileReplaced(let path): "another file than the catalogue knows is at \(LibraryPath.display(path))"
    case .fileRenamed(let path): "renamed, and not scanned yet: \(LibraryPath.display(path))"
    case .notMedia(let reason): "not a supported picture or video: \(reason)"
    case .damagedMedia(let reason): "a damaged picture or video: \(reason)"
    case .insufficientStorage: "the disk is full, a quota is used up, or less than upload.minimumFreeBytes is free"
    case .noSuchUpload(let upload): "no such upload: \(upload)"
    case .uploadIncomplete(let offset): "the upload has only \(offset) bytes so far"
    case .uploadComplete(let offset): "the upload is complete with \(offset) bytes"
    case .uploadOffsetMismatch(let offset): "the upload has \(offset) bytes; the request continues at another offset"
    case .uploadLengthMismatch(let length, let offset):
      "the upload is announced with \(length) bytes and has \(offset); the request would give it another length"
    case .uploadSuperseded: "another request has continued, read or ended the upload"
    case .uploadNamedTwice(let upload): "a change list names the upload \(upload) twice"
    case .tooManyUploads(let limit): "more than \(limit) uploads of one caller"
    case .stagedStorageFull(let limit): "all uploads together would have more than \(limit) bytes"
    case .storeFailed(let failure): failure.description
    case .failed(let path, let error): path.isEmpty ? "\(error)" : "\(LibraryPath.display(path)): \(error)"
    case .catalogue(let error): "\(error)"
    }
  }
}

extension LibraryStoreFailure: CustomStringConvertible {
  package var description: String {
    switch self {
    case .timedOut: "the store did not answer in time"
    case .suspended(let retryAfter):
      "the store failed repeatedly; it is asked again in \(max(1, retryAfter.components.seconds)) s"
    case .fileTooLarge(let limit): "the store takes objects of at most \(limit) bytes"
    case .failed(let text): text
    }
  }
}
