import AssetLibrary
import Foundation
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A catalogue whose disk is full or may not be written. The disks are small ones in memory, so whoever runs this has
/// to be allowed to mount them.
@Suite("A catalogue whose disk fails", .enabled(if: TemporaryFileSystem.canMount))
struct StorageFaultTests {
  /// A library of some files, its catalogue on a disk of its own.
  private func library(bytes: Int, files: Int) throws -> (TemporaryLibrary, TemporaryFileSystem) {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.data, bytes: bytes)
    for i in 0..<files { try library.put(smallJPEG + Array("\(i)".utf8), "\(i).jpg") }
    return (library, disk)
  }

  /// Takes all the room that there is.
  private func fill(_ folder: String) throws {
    let descriptor = open(folder + "/filler", O_CREAT | O_WRONLY, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let bytes = [UInt8](repeating: 1, count: 4096)
    while write(descriptor, bytes, bytes.count) > 0 {}
    #expect(errno == ENOSPC)
  }

  private func isStorageFault(_ fault: StorageFault, _ folder: String, _ error: any Error) -> Bool {
    guard case AssetLibraryError.storageFailed(folder, fault, _)? = error as? AssetLibraryError else { return false }
    let line = "\(error)"
    return line.hasPrefix("the data folder \(folder): ") && !line.contains("\n")
  }

  @Test("a full disk ends a scan at once with a clear error, what was there stays, and the next scan goes on")
  func full() throws {
    let (library, disk) = try library(bytes: 4 << 20, files: 200)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    #expect(before.count == 200)
    for i in 200..<990 { try library.put(smallJPEG + Array("\(i)".utf8), "\(i).jpg") }
    try fill(disk.path)
    #expect {
      try library.scan(catalogue)
    } throws: {
      isStorageFault(.full, library.data, $0)
    }
    // It is still read, by this one and by another that opens it. What was stored before there was no room is there.
    let now = try catalogue.everything()
    #expect(now.filter { before[$0.key] != nil } == before)
    unlink(disk.path + "/filler")
    try library.scan(catalogue)
    #expect(try catalogue.assetCount(AssetQuery(), for: .local) == 990)
    #expect(try catalogue.everything().filter { before[$0.key] != nil }.allSatisfy { before[$0.key] == $0.value })
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a disk without room for a catalogue says so")
  func fullFromTheStart() throws {
    let (library, disk) = try library(bytes: 1 << 20, files: 1)
    try fill(disk.path)
    #expect {
      try library.catalogue()
    } throws: {
      isStorageFault(.full, library.data, $0) || isStorageFault(.failing, library.data, $0)
        || isStorageFault(.unopenable, library.data, $0)
    }
  }

  @Test("a data folder that may only be read says so, to one who is scanning and to one who begins")
  func readOnly() throws {
    let (library, disk) = try library(bytes: 4 << 20, files: 20)
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
    }
    try disk.remount(readOnly: true)
    #expect {
      try library.catalogue()
    } throws: {
      isStorageFault(.readOnly, library.data, $0) || isStorageFault(.unopenable, library.data, $0)
    }
    try disk.remount(readOnly: false)
    let catalogue = try library.catalogue()
    let before = try catalogue.everything()
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(before.count == 20 && after == before)
  }
}
