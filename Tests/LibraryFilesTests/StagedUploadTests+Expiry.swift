import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

/// When the files of uploads are removed that receive nothing.
extension StagedUploadTests {
  @Test("an upload that receives nothing for its time is removed, and so is a file without a record")
  func expiry() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let old = try files.staged([1], isEnd: false)
    let day: Int64 = 86_400_000
    let now = Timestamp.now.milliseconds
    #expect(try files.removeExpiredUploads(now: Timestamp(milliseconds: now + day - 60_000)) == 0)
    let active = try files.stage(named: nil, length: nil, for: .local)
    try active.write([2])
    let orphan = UploadIdentifier()
    try library.put([3], ".photod-staged/\(orphan)")
    #expect(try files.removeExpiredUploads(now: Timestamp(milliseconds: now + day + 60_000)) == 1)
    #expect(library.allFiles == [".photod-staged/\(active.upload.identifier)"])
    #expect(throws: LibraryFilesError.noSuchUpload(old)) { try files.progress(of: old, for: .local) }
    try active.write([4])
    #expect(try files.finish(active, isEnd: true).offset == 2)
  }

  @Test("a clock that is set forwards does not end the time of an upload, and one that is set back does not stop it")
  func clockSet() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let start = Timestamp.now.milliseconds
    func removed(afterHours hours: Int64) throws -> Int {
      try files.removeExpiredUploads(now: Timestamp(milliseconds: start + hours * 3_600_000))
    }
    #expect(try removed(afterHours: 0) == 0)
    let forwards = try files.staged([1], isEnd: false)
    // A quarter of the day counts.
    #expect(try [1000, 1006, 1012].map { try removed(afterHours: $0) } == [0, 0, 0])
    #expect(try files.progress(of: forwards, for: .local).offset == 1)
    #expect(try [1018, 1019].map { try removed(afterHours: $0) }.reduce(0, +) == 1)
    let back = try files.staged([2], isEnd: false)
    let ahead = Timestamp(milliseconds: start + 1019 * 3_600_000)
    #expect(try catalogue.update(back, length: nil, isComplete: false, usedDate: ahead))
    #expect(try [30, 36, 42, 48].map { try removed(afterHours: $0) } == [0, 0, 0, 0])
    #expect(try [54, 55].map { try removed(afterHours: $0) }.reduce(0, +) == 1)
  }

  @Test("an upload whose file has a date in the future is removed at its time")
  func futureDate() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    let day: Int64 = 86_400_000
    let now = Timestamp.now.milliseconds
    func stage() throws {
      let append = try files.stage(named: nil, length: nil, for: .local)
      try append.write([1])
      try append.setModificationDate(Timestamp(milliseconds: now + 1000 * day))
      _ = try files.finish(append, isEnd: true)
    }
    try stage()
    #expect(try files.removeExpiredUploads(now: Timestamp(milliseconds: now + day - 60_000)) == 0)
    #expect(try files.removeExpiredUploads(now: Timestamp(milliseconds: now + day + 60_000)) == 1)
    #expect(library.allFiles.isEmpty)
  }

  @Test(
    "a start with another data folder removes no upload of the library before its time", arguments: [false, true],
    [false, true])
  func otherDataFolder(_ isComplete: Bool, _ isDated: Bool) throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    let append = try files.stage(named: nil, length: nil, for: .local)
    let identifier = append.upload.identifier
    try append.write([1, 2])
    if isDated { try append.setModificationDate(Timestamp(milliseconds: 0)) }
    let progress = try files.finish(append, isEnd: isComplete)
    let others = try library.files(try Catalogue(dataFolder: library.data + "/other"))
    try others.recover()
    #expect(try files.progress(of: identifier, for: .local) == progress)
    let end = Timestamp.now.milliseconds + Int64(others.stagedSeconds) * 1000
    try others.removeExpiredUploads(now: Timestamp(milliseconds: end - 60_000))
    #expect(try files.progress(of: identifier, for: .local) == progress)
    try others.removeExpiredUploads(now: Timestamp(milliseconds: end + 60_000))
    #expect(library.allFiles.isEmpty)
  }
}
