import LibraryFixtures
import LibraryFolder
import Testing

@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Uploads with a temporary name")
struct IncomingFileTests {
  @Test(
    "if another process removes a new file before it is locked, the file is made again, and is kept from then on",
    arguments: [false, true])
  func takenForAbandoned(_ isRemoved: Bool) throws {
    let library = try TemporaryLibrary()
    let root = try LibraryFolder(path: library.root)
    let folder = try root.openMakingFolders(IncomingFile.folderName, isPrivate: true)
    var names: [[UInt8]] = []
    // The other process's lock, if it has not removed the file yet.
    var other: LibraryFile?
    let (descriptor, name) = try IncomingFile.createLocked(in: folder) { name in
      names.append(name)
      guard names.count == 1 else { return }
      if isRemoved {
        try? IncomingFile.removeAbandonedUploads(of: root)
      } else {
        other = try? root.open(LibraryPath.join(IncomingFile.folderName, name))
        if let other { flock(other.descriptor, LOCK_EX | LOCK_NB) }
      }
    }
    defer { close(descriptor) }
    #expect(names.count == 2 && names.last == name)
    #expect((other == nil) == isRemoved)
    try IncomingFile.removeAbandonedUploads(of: root)
    #expect(library.allFiles.contains(".photod-uploads/" + String(decoding: name, as: UTF8.self)))
  }
}
