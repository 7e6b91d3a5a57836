import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

extension LibraryFiles {
  /// Stages bytes in one request.
  @discardableResult
  func staged(
    _ bytes: [UInt8], _ name: String? = nil, length: Int64? = nil, isEnd: Bool = true, for principal: Principal = .local
  ) throws -> UploadIdentifier {
    let append = try stage(named: name, length: length, for: principal)
    try append.write(bytes)
    _ = try finish(append, isEnd: isEnd)
    return append.upload.identifier
  }

  func continued(
    _ identifier: UploadIdentifier, _ bytes: [UInt8], at offset: Int, length: Int64? = nil, isEnd: Bool = false,
    for principal: Principal = .local
  ) throws -> StagedUploadProgress {
    let append = try append(to: identifier, at: Int64(offset), length: length, isEnd: isEnd, for: principal)
    try append.write(bytes)
    return try finish(append, isEnd: isEnd)
  }
}

@Suite("Staged uploads")
struct StagedUploadTests {
  private static let other = Principal(name: "other", scopes: [.read, .write])

  /// What a request does to a staged upload of four bytes, incomplete or complete.
  struct Step: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var announced: Int64?
    var isComplete = false
    let offset: Int
    var length: Int64?
    var bytes: [UInt8] = [5, 6]
    var isEnd = false
    let expected: Result<StagedUploadProgress, LibraryFilesError>
  }

  private static func progress(_ offset: Int64, _ length: Int64?, _ isComplete: Bool) -> StagedUploadProgress {
    StagedUploadProgress(offset: offset, length: length, isComplete: isComplete)
  }

  static let steps = [
    Step(testDescription: "continues", offset: 4, expected: .success(progress(6, nil, false))),
    Step(testDescription: "continues and ends", offset: 4, isEnd: true, expected: .success(progress(6, 6, true))),
    Step(
      testDescription: "ends without bytes", offset: 4, bytes: [], isEnd: true,
      expected: .success(progress(4, 4, true))),
    Step(testDescription: "continues too early", offset: 3, expected: .failure(.uploadOffsetMismatch(offset: 4))),
    Step(testDescription: "continues too late", offset: 5, expected: .failure(.uploadOffsetMismatch(offset: 4))),
    Step(testDescription: "begins again", offset: 0, expected: .failure(.uploadOffsetMismatch(offset: 4))),
    Step(
      testDescription: "continues a complete one", isComplete: true, offset: 4,
      expected: .failure(.uploadComplete(offset: 4))),
    Step(testDescription: "reaches the length", announced: 6, offset: 4, expected: .success(progress(6, 6, true))),
    Step(testDescription: "stays below the length", announced: 7, offset: 4, expected: .success(progress(6, 7, false))),
    Step(
      testDescription: "ends before the length", announced: 7, offset: 4, isEnd: true,
      expected: .failure(.uploadLengthMismatch(length: 7, offset: 6))),
    Step(
      testDescription: "exceeds the length", announced: 5, offset: 4,
      expected: .failure(.uploadLengthMismatch(length: 5, offset: 4))),
    Step(testDescription: "announces the length", offset: 4, length: 9, expected: .success(progress(6, 9, false))),
    Step(
      testDescription: "announces another length", announced: 7, offset: 4, length: 9,
      expected: .failure(.uploadLengthMismatch(length: 7, offset: 4))),
  ]

  @Test("a request continues a staged upload only at its offset and within its length", arguments: steps)
  func state(_ step: Step) throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    let identifier = try files.staged([1, 2, 3, 4], length: step.announced, isEnd: step.isComplete)
    let result: Result<StagedUploadProgress, LibraryFilesError>
    do {
      result = .success(
        try files.continued(identifier, step.bytes, at: step.offset, length: step.length, isEnd: step.isEnd))
    } catch let error as LibraryFilesError {
      result = .failure(error)
    }
    #expect(result == step.expected)
    if case .success(let progress) = step.expected {
      #expect(try files.progress(of: identifier, for: .local) == progress)
    }
  }

  @Test("a newer request of the owner ends an older one, whose bytes stay; only looking at the offset ends none")
  func superseded() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    let first = try files.stage(named: nil, length: nil, for: .local)
    let identifier = first.upload.identifier
    try first.write([1, 2])
    let calls = Atomic(0)
    first.onSupersede { calls.add(1, ordering: .relaxed) }
    let second = try files.append(to: identifier, at: 2, for: .local)
    #expect(calls.load(ordering: .relaxed) == 1)
    first.onSupersede { calls.add(1, ordering: .relaxed) }
    #expect(calls.load(ordering: .relaxed) == 2, "it is called at once if the newer request came first")
    #expect(throws: LibraryFilesError.uploadSuperseded) { try first.write([9]) }
    #expect(throws: LibraryFilesError.uploadSuperseded) { try files.finish(first, isEnd: true) }
    try second.write([3])
    #expect(try files.progress(of: identifier, for: .local).offset == 3)
    let administrator = Principal(name: "other administrator", scopes: [.admin])
    #expect(try files.progress(of: identifier, for: administrator, endsAppend: true).offset == 3)
    try second.write([4])
    #expect(try files.progress(of: identifier, for: .local, endsAppend: true).offset == 4)
    #expect(throws: LibraryFilesError.uploadSuperseded) { try second.write([9]) }
    let path = library.root + "/.photod-staged/" + identifier.rawValue
    #expect(FileManager.default.contents(atPath: path) == Data([1, 2, 3, 4]))
  }

  @Test("the bytes of a request can be discarded, unless a newer one has begun")
  func discarded() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    let identifier = try files.staged([1, 2], isEnd: false)
    let append = try files.append(to: identifier, at: 2, for: .local)
    try append.write([3, 4, 5])
    try append.discard()
    #expect(try files.progress(of: identifier, for: .local).offset == 2)
    #expect(try files.continued(identifier, [6], at: 2, isEnd: true) == Self.progress(3, 3, true))
    #expect(throws: LibraryFilesError.uploadSuperseded) { try append.discard() }
  }

  @Test("after a restart an upload goes on at its last byte, and the asset has all its bytes")
  func restart() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let bytes = UploadTests.dated + [UInt8](repeating: 3, count: 100_000)
    let identifier: UploadIdentifier
    do {
      let files = try library.files(catalogue)
      let append = try files.stage(named: "a.jpg", length: nil, for: .local)
      identifier = append.upload.identifier
      // Neither synced nor finished.
      try append.write(Array(bytes[..<70_000]))
    }
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try files.progress(of: identifier, for: .local).offset == 70_000)
    #expect(throws: LibraryFilesError.uploadIncomplete(offset: 70_000)) { try files.addStaged(identifier, for: .local) }
    _ = try files.continued(identifier, Array(bytes[70_000...]), at: 70_000, isEnd: true)
    let made = try files.addStaged(identifier, for: .local)
    #expect(made.isNew && made.asset.original.displayPath == "2021/07/a.jpg")
    #expect(FileManager.default.contents(atPath: library.root + "/2021/07/a.jpg") == Data(bytes))
    #expect(library.allFiles == ["2021/07/a.jpg"])
    #expect(throws: LibraryFilesError.noSuchUpload(identifier)) { try files.progress(of: identifier, for: .local) }
    #expect(try files.addStaged(identifier, for: .local).isRepeated)
    let scan = try library.scan(catalogue)
    #expect(try scan.removed == 0 && catalogue.everything().count == 1)
  }

  @Test("staged bytes are limited, with announced ones and those of an earlier process, and deleting frees them")
  func bounded() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue) { $0.stagedBytes = 100 }
    let announced = try files.staged([1], length: 60, isEnd: false)
    #expect(throws: LibraryFilesError.stagedStorageFull(limit: 100)) {
      try files.stage(named: nil, length: 41, for: .local)
    }
    let growing = try files.stage(named: nil, length: nil, for: .local)
    try growing.write([UInt8](repeating: 0, count: 40))
    #expect(throws: LibraryFilesError.stagedStorageFull(limit: 100)) { try growing.write([0]) }
    _ = try files.finish(growing, isEnd: false)
    let next = try library.files(catalogue) { $0.stagedBytes = 100 }
    #expect(throws: LibraryFilesError.stagedStorageFull(limit: 100)) {
      try next.append(to: growing.upload.identifier, at: 40, bytes: 1, for: .local)
    }
    try next.deleteStaged(announced, for: .local)
    #expect(try next.continued(growing.upload.identifier, [7], at: 40).offset == 41)
    try next.deleteStaged(growing.upload.identifier, for: .local)
    #expect(library.allFiles.isEmpty)
    _ = try next.stage(named: nil, length: 100, for: .local)
  }

  @Test("a caller may have so many staged uploads, and others have their own number")
  func number() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue()) { $0.stagedPerCaller = 2 }
    try files.staged([1])
    let second = try files.staged([2])
    #expect(throws: LibraryFilesError.tooManyUploads(limit: 2)) {
      try files.stage(named: nil, length: nil, for: .local)
    }
    try files.staged([3], for: Self.other)
    try files.deleteStaged(second, for: .local)
    try files.staged([4])
  }

  @Test("an upload is its owner's alone, except that an administrator may look at it and end it")
  func ownership() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    let own = try files.staged([1, 2], isEnd: false, for: Self.other)
    let stranger = Principal(name: "stranger", scopes: [.read, .write])
    let limited = Principal(name: "limited", scopes: [.read, .admin], visibility: .collections([]))
    for principal in [stranger, limited] {
      #expect(throws: LibraryFilesError.noSuchUpload(own)) { try files.progress(of: own, for: principal) }
      #expect(throws: LibraryFilesError.noSuchUpload(own)) { try files.append(to: own, at: 2, for: principal) }
      #expect(throws: LibraryFilesError.noSuchUpload(own)) { try files.addStaged(own, for: principal) }
      #expect(throws: LibraryFilesError.noSuchUpload(own)) { try files.deleteStaged(own, for: principal) }
    }
    // `local` is an administrator.
    #expect(throws: LibraryFilesError.noSuchUpload(own)) { try files.append(to: own, at: 2, for: .local) }
    #expect(try files.progress(of: own, for: .local).offset == 2)
    try files.deleteStaged(own, for: .local)
    #expect(throws: LibraryFilesError.noSuchUpload(own)) { try files.progress(of: own, for: Self.other) }
  }

  @Test("content that the library has becomes the existing asset for a caller who may see it, and uses up the upload")
  func duplicates() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let first = try files.upload(UploadTests.dated, "a.jpg").asset.localIdentifier
    let again = try files.addStaged(try files.staged(UploadTests.dated), for: .local)
    #expect(!again.isNew && again.asset.localIdentifier == first)
    let adder = Principal(name: "adder", scopes: [.add])
    let blind = try files.addStaged(try files.staged(UploadTests.dated, for: adder), for: adder)
    #expect(blind.isNew && blind.asset.localIdentifier != first)
    #expect(library.allFiles.count == 2)
    #expect(try catalogue.stagedUploads().isEmpty)
  }

  @Test("content that is no picture fails, and the staged upload stays")
  func refused() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let text = try files.staged(Array("#!/bin/sh".utf8))
    let empty = try files.staged([])
    for identifier in [text, empty] {
      #expect(throws: LibraryFilesError.self) { try files.addStaged(identifier, for: .local) }
      #expect(try files.progress(of: identifier, for: .local).isComplete)
    }
    #expect(library.allFiles.allSatisfy { $0.hasPrefix(".photod-staged/") })
  }

  @Test("a read-only library takes no staged upload")
  func readOnly() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue()) { $0.isReadOnly = true }
    #expect(throws: LibraryFilesError.readOnly) { try files.stage(named: nil, length: nil, for: .local) }
  }

  // MARK: Change lists

  private static func executor(_ catalogue: Catalogue, _ files: LibraryFiles) -> ChangeListExecutor {
    ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits())
  }

  private static func album(of uploads: [UploadIdentifier]) -> [ChangeRequest] {
    let names = uploads.indices.map { "$\($0)" }
    return zip(uploads, names).map { ChangeRequest(.createAssetFromStagedUpload($0), placeholder: $1) } + [
      ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "Album")), placeholder: "$a"),
      ChangeRequest(.addAssets(.placeholder("$a"), names.map { .placeholder($0) })),
    ]
  }

  @Test("a change list makes assets of staged uploads and their album in one change; equal names get free paths")
  func list() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let uploads = try [UploadTests.dated, UploadTests.dated + [0], UploadTests.dated + [1]].map {
      try files.staged($0, "a.jpg")
    }
    let before = try catalogue.changeToken(for: .local)
    let outcome = try Self.executor(catalogue, files).perform(Self.album(of: uploads), for: .local)
    #expect(outcome.changeToken.number == before.number + 1)
    #expect(library.allFiles == ["2021/07/a.jpg", "2021/07/a-2.jpg", "2021/07/a-3.jpg"])
    let album = try #require(outcome.created["$a"])
    let members = try catalogue.pool.read { db in
      try Int.fetchOne(
        db,
        sql: "SELECT count(*) FROM member JOIN collection ON collection.id = collection WHERE localIdentifier = ?",
        arguments: [album.rawValue])
    }
    #expect(members == 3)
    #expect(try catalogue.stagedUploads().isEmpty)
    #expect(try library.scan(catalogue).removed == 0)
  }

  @Test("while the catalogue can't be written, a failed change leaves the file of a staged upload where it is")
  func unwritableCatalogue() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let upload = try files.staged(UploadTests.dated, "a.jpg")
    let staged = library.allFiles
    let prepared = try files.prepare([.createFromUpload(upload)], for: .local)
    let fault = TrashTests.CommitFault()
    catalogue.pool.add(transactionObserver: fault, extent: .databaseLifetime)
    files.revert(prepared, commitFailure: .storageFailed(.failing, ""))
    #expect(library.allFiles == ["2021/07/a.jpg"])
    catalogue.pool.remove(transactionObserver: fault)
    try files.recover()
    #expect(try library.allFiles == staged && catalogue.unfinishedStagedUploads().isEmpty)
    #expect(try files.addStaged(upload, for: .local).isNew)
  }

  @Test("a list that fails moves the files back, and can be sent again")
  func failedList() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let executor = Self.executor(catalogue, files)
    let uploads = [try files.staged(UploadTests.dated, "a.jpg"), try files.staged(smallPNG, "b.png")]
    let staged = library.allFiles
    let last = ChangeRequest(.insertAssets(.placeholder("$a"), [.placeholder("$0")], index: 99))
    #expect(throws: ChangeListError.self) { try executor.perform(Self.album(of: uploads) + [last], for: .local) }
    #expect(library.allFiles == staged && staged.count == 2)
    #expect(try catalogue.everything().isEmpty && catalogue.unfinishedStagedUploads().isEmpty)
    #expect(throws: ChangeListError.self) {
      try executor.perform(Self.album(of: [uploads[0], uploads[0]]), for: .local)
    }
    #expect(library.allFiles == staged)
    _ = try executor.perform(Self.album(of: uploads), for: .local)
    #expect(try catalogue.everything().count == 2 && library.allFiles.count == 2)
  }

  @Test("two staged uploads of one list with the same content become one asset")
  func equalInList() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let uploads = [try files.staged(UploadTests.dated, "a.jpg"), try files.staged(UploadTests.dated, "b.jpg")]
    let list = uploads.enumerated().map { ChangeRequest(.createAssetFromStagedUpload($1), placeholder: "$\($0)") }
    let outcome = try Self.executor(catalogue, files).perform(list, for: .local)
    #expect(outcome.created["$0"] == outcome.created["$1"] && library.allFiles == ["2021/07/a.jpg"])
  }

  @Test(
    "a staged upload for another disk is copied there; if the list fails, the copy goes",
    .enabled(if: TemporaryFileSystem.canMount))
  func otherDisk() throws {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.root + "/2021", bytes: 1 << 20)
    defer { withExtendedLifetime(disk) {} }
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue) { $0.reserveBytes = 0 }
    let executor = Self.executor(catalogue, files)
    let upload = try files.staged(UploadTests.dated, "a.jpg")
    let last = ChangeRequest(.insertAssets(.placeholder("$a"), [.placeholder("$0")], index: 99))
    #expect(throws: ChangeListError.self) { try executor.perform(Self.album(of: [upload]) + [last], for: .local) }
    #expect(library.allFiles(in: disk.path).isEmpty && library.allFiles == [".photod-staged/\(upload)"])
    _ = try executor.perform(Self.album(of: [upload]), for: .local)
    #expect(library.allFiles(in: disk.path) == ["07/a.jpg"] && library.allFiles.isEmpty)
  }

  @Test(
    "the modification date of a staged upload is kept by a copy to another disk",
    .enabled(if: TemporaryFileSystem.canMount))
  func dateOnOtherDisk() throws {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.root + "/2021", bytes: 1 << 20)
    defer { withExtendedLifetime(disk) {} }
    let files = try library.files(try library.catalogue()) { $0.reserveBytes = 0 }
    let date = Timestamp(milliseconds: 1_625_400_000_250)
    let append = try files.stage(named: "a.jpg", length: nil, for: .local)
    try append.write(smallJPEG)
    try append.setModificationDate(date)
    _ = try files.finish(append, isEnd: true)
    #expect(try files.addStaged(append.upload.identifier, for: .local).asset.creationDate == date)
    #expect(library.allFiles(in: disk.path) == ["07/a.jpg"])
    // A catalogue that is made from the files alone has the same date.
    let other = try Catalogue(dataFolder: library.data + "/other")
    try library.scan(other)
    #expect(try other.everything()["2021/07/a.jpg"]?.creationDate == date)
  }
}
