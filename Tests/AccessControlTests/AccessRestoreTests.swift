import AccessControl
import DurableFiles
import Foundation
import GRDB
import Logging
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Backup and restore of tokens")
struct AccessRestoreTests {
  @Test("a restored copy has the tokens and keys of its moment, also those that were revoked since")
  func roundTrip() throws {
    let access = try TemporaryAccess()
    let (kept, secret) = try access.token([.read, .location], name: "kept")
    let copy = access.folder + "/copy.access"
    try access.outside.backUp(to: copy)
    _ = try access.outside.revokeToken(kept.identifier)
    _ = try access.token(name: "later")
    #expect(throws: AccessError.self) { try access.outside.backUp(to: copy) }

    let empty = access.folder + "-empty"
    defer { try? FileManager.default.removeItem(atPath: empty) }
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
    #expect(try AccessRestore(dataFolder: empty).restore(from: copy) == nil)
    let restored = try AccessDatabase(dataFolder: empty)
    #expect(try restored.tokens().map(\.name) == ["kept"])
    let registry = try AccessRegistry(database: restored, logger: Logger(label: "test"))
    #expect(try registry.grant(bearer: secret).principal.scopes == [.read, .location])
    let mode = try FileManager.default.attributesOfItem(atPath: empty + "/access.sqlite")[.posixPermissions] as? Int
    #expect(mode == 0o600)

    let aside = try AccessRestore(dataFolder: empty).restore(from: copy)
    #expect(aside == empty + "/access.before-restore.sqlite")
    #expect(try AccessRestore(dataFolder: empty).restore(from: copy) == empty + "/access.before-restore-2.sqlite")
  }

  @Test("what is no copy of tokens is refused, and the present tokens stay")
  func refused() throws {
    let access = try TemporaryAccess()
    _ = try access.token(name: "present")
    let other = access.folder + "/other.sqlite"
    let queue = try DatabaseQueue(path: other)
    try queue.write { try $0.execute(sql: "CREATE TABLE token (id INTEGER)") }
    try queue.close()
    let newer = access.folder + "/newer.sqlite"
    try access.outside.backUp(to: newer)
    let future = try DatabaseQueue(path: newer)
    try future.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: from the future')") }
    try future.close()
    let text = access.folder + "/text"
    try Data("text".utf8).write(to: URL(filePath: text))
    for path in [other, newer, text, access.folder, access.folder + "/none"] {
      #expect(throws: AccessError.self, "\(path)") { try AccessRestore.check(path) }
      #expect(throws: AccessError.self, "\(path)") { try AccessRestore(dataFolder: access.folder).restore(from: path) }
    }
    #expect(try access.outside.tokens().map(\.name) == ["present"])
  }

  @Test("tokens that root restores belong to the owner of the data folder", .enabled(if: geteuid() == 0))
  func owner() throws {
    let access = try TemporaryAccess()
    let (copy, folder) = (access.folder + "/copy.access", access.folder + "/restored")
    try access.outside.backUp(to: copy)
    try #require(mkdir(folder, 0o700) == 0 && chown(folder, 12_345, 12_346) == 0)
    _ = try AccessRestore(dataFolder: folder).restore(from: copy)
    var status = stat()
    #expect(lstat(folder + "/access.sqlite", &status) == 0 && status.st_uid == 12_345 && status.st_gid == 12_346)
  }

  @Test("the journal of lost tokens is not applied to restored ones, and damaged tokens are replaced")
  func journals() throws {
    let access = try TemporaryAccess()
    _ = try access.token(name: "kept")
    let copy = access.folder + "/copy.access"
    try Data("of a former file".utf8).write(to: URL(filePath: copy + "-journal"))
    try access.outside.backUp(to: copy)
    #expect(!FileManager.default.fileExists(atPath: copy + "-journal"))
    let folder = access.folder + "-restored"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let present = folder + "/access.sqlite"
    try Data("of lost tokens".utf8).write(to: URL(filePath: present + "-journal"))
    #expect(try AccessRestore(dataFolder: folder).restore(from: copy) == nil)
    #expect(!FileManager.default.fileExists(atPath: present + "-journal"))
    #expect(try AccessDatabase(dataFolder: folder).tokens().map(\.name) == ["kept"])
    try Data(repeating: 65, count: 10_000).write(to: URL(filePath: present))
    #expect(try AccessRestore(dataFolder: folder).restore(from: copy) != nil)
    #expect(try AccessDatabase(dataFolder: folder).tokens().map(\.name) == ["kept"])
  }

  @Test("a copy replaces neither the tokens themselves nor a file that another backup writes")
  func destinations() throws {
    let access = try TemporaryAccess()
    for name in ["access.sqlite", "access.sqlite-journal", "access.incoming.sqlite"] {
      #expect(throws: AccessError.self) { try access.outside.backUp(to: access.folder + "/" + name, replacing: true) }
    }
    let copy = access.folder + "/copy.access"
    let destination = try CopyDestination(copy)
    #expect {
      try access.outside.backUp(to: copy)
    } throws: {
      if case AccessError.copyUnderWay(copy)? = $0 as? AccessError { true } else { false }
    }
    destination.release()
    try access.outside.backUp(to: copy)
    #expect(throws: AccessError.self) { try access.outside.backUp(to: copy) }
  }
}
