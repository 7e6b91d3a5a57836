import Foundation
import ObjectStores
import PhotoModel
import Testing

@testable import OriginalDownloads

@Suite struct OriginalHeadsTests {
  private final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("heads-\(UUID().uuidString)").path
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var files: [String] {
      (FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []).filter { $0.count > 2 }
    }
  }

  private let folder = Folder()
  private let identity = FileIdentity(inode: 7, size: 1_000_000, modified: 0)

  private func heads(_ limitBytes: Int64 = 1 << 20) throws -> OriginalHeads {
    try OriginalHeads(path: folder.path, limitBytes: limitBytes)
  }

  private static func part(_ offset: Int64, _ count: Int) -> (offset: Int64, bytes: [UInt8]) {
    (offset, (0..<count).map { UInt8(truncatingIfNeeded: Int(offset) + $0) })
  }

  @Test func `Kept parts can be read in this and the next process, and nothing else`() throws {
    try heads().store([Self.part(0, 1000), Self.part(999_000, 1000)], of: "a", identity)
    for _ in 0..<2 {
      let source = try #require(try heads().open("a", identity))
      #expect(source.size == 1_000_000)
      #expect(try source.bytes(at: 990, count: 10) == Self.part(990, 10).bytes)
      #expect(try source.bytes(at: 999_990, count: 100) == Self.part(999_990, 10).bytes)
      #expect(try source.bytes(at: 995, count: 10) == Self.part(995, 5).bytes)
      #expect(try source.bytes(at: 5000, count: 10).isEmpty)
      #expect(try source.bytes(at: 1_000_000, count: 10).isEmpty)
    }
    var other = identity
    other.inode = 8
    #expect(try heads().open("a", other) == nil)
    #expect(try heads().open("b", identity) == nil)
  }

  @Test func `Parts beyond the limit of one object are left out`() throws {
    try heads().store([Self.part(0, 100_000), Self.part(200_000, 100_000)], of: "a", identity)
    let source = try #require(try heads().open("a", identity))
    #expect(try source.bytes(at: 0, count: 100_000).count == 100_000)
    #expect(try source.bytes(at: 200_000, count: 1).isEmpty)
  }

  @Test func `The heads used longest ago make room, and a limit of 0 keeps none`() throws {
    let some = try heads(2500)
    for key in ["a", "b"] as [ObjectKey] { some.store([Self.part(0, 1000)], of: key, identity) }
    _ = some.open("a", identity)
    some.store([Self.part(0, 1000)], of: "c", identity)
    #expect(some.open("a", identity) != nil && some.open("b", identity) == nil && some.open("c", identity) != nil)
    #expect(folder.files.count == 2)
    let none = try heads(0)
    #expect(folder.files.isEmpty)
    none.store([Self.part(0, 10)], of: "a", identity)
    #expect(none.open("a", identity) == nil)
  }

  @Test func `No beginning of a file is a head with wrong bytes`() throws {
    try heads().store([Self.part(0, 100), Self.part(500, 20)], of: "a", identity)
    let file = folder.path + "/" + (try #require(folder.files.first))
    let whole = try Data(contentsOf: URL(filePath: file))
    for count in 0..<whole.count {
      try whole.prefix(count).write(to: URL(filePath: file))
      #expect(try heads().open("a", identity) == nil, "\(count)")
    }
    try (whole + Data([0])).write(to: URL(filePath: file))
    #expect(try heads().open("a", identity) == nil)
  }
}
