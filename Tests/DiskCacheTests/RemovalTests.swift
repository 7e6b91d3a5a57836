import DiskCache
import Foundation
import Testing

/// Twelve entries of three subjects, of both kinds, each in its own subject's part of the keys.
private enum Subjects {
  static let all = (0..<3).map { DiskStore.Subject("subject \($0)") }

  static func key(_ subject: Int, _ number: Int) -> DiskStore.Key {
    DiskStore.Key(all[subject], digestOf: Array("subject \(subject), \(number)".utf8))
  }

  static func store(in store: DiskStore) {
    for subject in all.indices {
      for number in 0..<4 {
        store.store(
          Sample.bytes(number), info: [1], for: key(subject, number), number % 2 == 0 ? .frame : .derivative)
      }
    }
  }

  static func found(in store: DiskStore) -> [Int] {
    all.indices.map { subject in
      (0..<4).count { store.entry(for: key(subject, $0), $0 % 2 == 0 ? .frame : .derivative) != nil }
    }
  }
}

@Suite("Disk cache: removal of subjects")
struct RemovalTests {
  @Test("all entries of a subject are removed, of both kinds and of older epochs, and no others", arguments: [1, 2])
  func removal(_ epoch: UInt32) throws {
    let cache = try TemporaryCache()
    var store = cache.open(capacityBytes: 1 << 20)
    Subjects.store(in: store)
    // A store that is closed during its first sweep writes nothing more.
    store.waitUntilIdle()
    store.close()
    // With another epoch, the entries of the first are removed in the background; both ways lead to the same.
    store = cache.open(frame: epoch)
    #expect(store.removeEntries(of: [Subjects.all[0], Subjects.all[2], DiskStore.Subject("none")]))
    store.waitUntilIdle()
    #expect(Subjects.found(in: store) == [0, epoch == 1 ? 4 : 2, 0])
    #expect(store.statistics.derivatives.entries == 2)
    // What is stored later stays.
    Subjects.store(in: store)
    store.waitUntilIdle()
    #expect(Subjects.found(in: store) == [4, 4, 4])
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("entries that wait to be written are removed too")
  func waiting() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    let gate = Gate()
    gate.shut()
    // The writer waits in its first turn, so that the second half of the entries waits in the buffer.
    cache.refuse { step in
      if step == .commit { gate.pass() }
      return 0
    }
    store.store(1)
    Subjects.store(in: store)
    let removal = DispatchGroup()
    DispatchQueue.global().async(group: removal) {
      #expect(store.removeEntries(of: [Subjects.all[1]]))
    }
    gate.open()
    removal.wait()
    store.waitUntilIdle()
    #expect(Subjects.found(in: store) == [4, 0, 4] && store.finds(1))
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("if the disk can't be written the removal says so, and succeeds later; so does a store that is off")
  func failure() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    Subjects.store(in: store)
    store.waitUntilIdle()
    cache.refuse { $0 == .removeFile ? EROFS : 0 }
    #expect(!store.removeEntries(of: [Subjects.all[0]]))
    #expect(Subjects.found(in: store) == [4, 4, 4])
    cache.refuse { _ in 0 }
    #expect(store.removeEntries(of: [Subjects.all[0]]))
    #expect(Subjects.found(in: store) == [0, 4, 4])
    store.close()
    #expect(!store.removeEntries(of: [Subjects.all[1]]), "its entries may be found again")
    #expect(cache.open(capacityBytes: 0).removeEntries(of: [Subjects.all[1]]))
    #expect(try cache.rows() == Set(cache.entryFiles().keys) && cache.rows().count == 8)
  }
}
