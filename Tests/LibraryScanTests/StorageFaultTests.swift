import Foundation
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A catalogue whose disk is full or read-only. The disks are small file systems in memory, so the user that runs this
/// must be allowed to mount them.
@Suite("A catalogue whose disk fails", .enabled(if: TemporaryFileSystem.canMount))
struct StorageFaultTests {
  /// A library of some files whose catalogue is on a separate disk.
  private func library(bytes: Int, files: Int) throws -> (TemporaryLibrary, TemporaryFileSystem) {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.data, bytes: bytes)
    for i in 0..<files { try library.put(smallJPEG + Array("\(i)".utf8), "\(i).jpg") }
    return (library, disk)
  }

  private func isStorageFault(_ fault: StorageFault, _ folder: String, _ error: any Error) -> Bool {
    guard case LibraryError.storageFailed(folder, fault, _)? = error as? LibraryError else { return false }
    let line = "\(error)"
    return line.hasPrefix("the data folder \(folder): ") && !line.contains("\n")
  }

  @Test("a full disk ends a scan with a clear error, keeps the catalogue, and the next scan continues")
  func full() throws {
    let (library, disk) = try library(bytes: 4 << 20, files: 200)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    #expect(before.count == 200)
    for i in 200..<990 { try library.put(smallJPEG + Array("\(i)".utf8), "\(i).jpg") }
    let filler = try disk.fill()
    #expect {
      try library.scan(catalogue)
    } throws: {
      isStorageFault(.full, library.data, $0)
    }
    // The open catalogue and a newly opened one can still read all rows that were stored before the disk was full.
    let now = try catalogue.everything()
    #expect(now.filter { before[$0.key] != nil } == before)
    unlink(filler)
    try library.scan(catalogue)
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: .local) == 990)
    #expect(try catalogue.everything().filter { before[$0.key] != nil }.allSatisfy { before[$0.key] == $0.value })
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a disk without space for a catalogue is reported as full")
  func fullFromTheStart() throws {
    let (library, disk) = try library(bytes: 1 << 20, files: 1)
    _ = try disk.fill()
    #expect {
      try library.catalogue()
    } throws: {
      isStorageFault(.full, library.data, $0) || isStorageFault(.failing, library.data, $0)
        || isStorageFault(.unopenable, library.data, $0)
    }
  }

  @Test("a read-only data folder is reported, during a scan and at its start")
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
      isStorageFault(.readOnly, library.data, $0)
    }
    #expect {
      try Catalogue(reading: library.data)
    } throws: {
      isStorageFault(.readOnly, library.data, $0)
    }
    try disk.remount(readOnly: false)
    let catalogue = try library.catalogue()
    let before = try catalogue.everything()
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(before.count == 20 && after == before)
  }
}
