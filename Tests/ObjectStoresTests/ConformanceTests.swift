import Testing

@testable import ObjectStores

/// What all stores have in common.
@Suite struct ConformanceTests {
  static let peers = StorePeer.Kind.builtIn
  static let writable = StorePeer.Kind.builtIn.filter { !$0.isReadOnly }

  @Test(arguments: peers) func `A head has the size, and an identity that a read accepts`(_ kind: StorePeer.Kind) throws
  {
    try StorePeer.with(kind) { peer in
      let bytes = pattern(100_000)
      try peer.set("2024/a.jpg", bytes)
      let head = try peer.store.waitForHead("2024/a.jpg")
      #expect(head.identity.size == 100_000)
      #expect(head.modified != nil)
      #expect(
        try peer.store.waitForBytes("2024/a.jpg", ObjectRange(offset: 0, length: 100_000), of: head.identity) == bytes)
    }
  }

  @Test(arguments: peers) func `A range is exactly the bytes asked for`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      let bytes = pattern(300_000)
      try peer.set("a.jpg", bytes)
      let identity = try peer.store.waitForHead("a.jpg").identity
      for (offset, length) in [(0, 1), (1, 1), (299_999, 1), (65_535, 65_538), (100_000, 200_000), (0, 299_999)] {
        let found = try peer.store.waitForBytes(
          "a.jpg", ObjectRange(offset: Int64(offset), length: Int64(length)), of: identity)
        #expect(found == Array(bytes[offset..<offset + length]), "\(offset), \(length)")
      }
    }
  }

  @Test(arguments: peers) func `A small object is read whole without its state, and a large one is refused`(
    _ kind: StorePeer.Kind
  ) throws {
    try StorePeer.with(kind) { peer in
      let bytes = pattern(100_000)
      try peer.set("3f/a", bytes)
      #expect(try peer.store.waitToGet("3f/a", maximumBytes: 100_000) == bytes)
      #expect(throws: ObjectStoreError.limitExceeded(.objectBytes)) {
        try peer.store.waitToGet("3f/a", maximumBytes: 99_999)
      }
      #expect(throws: ObjectStoreError.notFound) { try peer.store.waitToGet("3f/b", maximumBytes: 100_000) }
    }
  }

  @Test(arguments: peers) func `A missing object is not found`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      try peer.set("a.jpg", [1])
      let identity = try peer.store.waitForHead("a.jpg").identity
      for key in ["b.jpg", "a.jpg/b", "c/d.jpg"] as [ObjectKey] {
        #expect(throws: ObjectStoreError.notFound) { try peer.store.waitForHead(key) }
        #expect(throws: ObjectStoreError.notFound) {
          try peer.store.waitForBytes(key, ObjectRange(offset: 0, length: 1), of: identity)
        }
      }
    }
  }

  @Test(arguments: peers) func `A replaced object is not read as the old one`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      try peer.set("a.jpg", pattern(1000))
      let identity = try peer.store.waitForHead("a.jpg").identity
      try peer.set("a.jpg", pattern(1000, seed: 2))
      #expect(throws: ObjectStoreError.changed) {
        try peer.store.waitForBytes("a.jpg", ObjectRange(offset: 10, length: 10), of: identity)
      }
      #expect(try peer.store.waitForHead("a.jpg").identity != identity)
    }
  }

  @Test(arguments: peers) func `Pages list every object once, in the order of keys`(_ kind: StorePeer.Kind) throws {
    let keys = ["Z.jpg", "a b/c+d%20.jpg", "a.jpg", "a/b.jpg", "a/b/c.jpg", "a0.jpg", "b/é.jpg", "b/日本.jpg"]
    try StorePeer.with(kind) { peer in
      for key in keys { try peer.set(key, Array(key.utf8)) }
      try peer.set("a/.trash/deleted.jpg", [1])
      var (found, position, pages) = ([ObjectPage.Entry](), nil as ObjectPage.Position?, 0)
      repeat {
        let page = try peer.store.waitForPage(from: position)
        #expect(page.skipped == 0)
        found += page.entries
        position = page.next
        pages += 1
      } while position != nil && pages < 20
      #expect(found.map(\.key.description) == keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
      for entry in found {
        #expect(try peer.store.waitForHead(entry.key).identity == entry.identity)
        let range = ObjectRange(offset: 0, length: entry.identity.size)
        #expect(try peer.store.waitForBytes(entry.key, range, of: entry.identity) == entry.key.bytes)
      }
    }
  }

  @Test(arguments: peers) func `An empty store lists nothing`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      let page = try peer.store.waitForPage(from: nil)
      #expect(page == ObjectPage())
    }
  }

  @Test(arguments: writable) func `What is written is read, with a new identity each time`(
    _ kind: StorePeer.Kind
  ) throws {
    try StorePeer.with(kind) { peer in
      let first = try peer.store.waitToPut(pattern(70_000), as: "d/e/f.bin", replaces: false)
      #expect(try peer.store.waitForHead("d/e/f.bin").identity == first)
      #expect(throws: ObjectStoreError.exists) {
        try peer.store.waitToPut([1], as: "d/e/f.bin", replaces: false)
      }
      let second = try peer.store.waitToPut(pattern(70_000, seed: 9), as: "d/e/f.bin", replaces: true)
      #expect(second != first)
      let range = ObjectRange(offset: 0, length: 70_000)
      #expect(try peer.store.waitForBytes("d/e/f.bin", range, of: second) == pattern(70_000, seed: 9))
      #expect(throws: ObjectStoreError.changed) { try peer.store.waitForBytes("d/e/f.bin", range, of: first) }
    }
  }

  @Test(arguments: writable) func `A file is written as it is, and replaces nothing unless it may`(
    _ kind: StorePeer.Kind
  ) throws {
    try StorePeer.with(kind) { peer in
      let file = try ObjectFile(MemorySource(pattern(300_000)))
      let identity = try peer.store.waitToPut(file, as: "d/f.bin", replaces: false)
      let found = try peer.store.waitForHead("d/f.bin")
      #expect(found.identity == identity)
      let range = ObjectRange(offset: 0, length: 300_000)
      #expect(try peer.store.waitForBytes("d/f.bin", range, of: identity) == pattern(300_000))
      #expect(throws: ObjectStoreError.exists) { try peer.store.waitToPut(file, as: "d/f.bin", replaces: false) }
      let empty = try ObjectFile(MemorySource([]))
      #expect(try peer.store.waitToPut(empty, as: "d/f.bin", replaces: true).size == 0)
      guard kind != .folder else { return }
      #expect(file.hasBytes(of: found))
      #expect(try !ObjectFile(MemorySource(pattern(300_000, seed: 3))).hasBytes(of: found))
      // By the entity tag alone, and not at all for one that is no MD5.
      #expect(file.hasBytes(of: ObjectDescription(identity: identity)))
      let other = ObjectIdentity(size: 300_000, version: .entityTag("\"0123-2\""))
      #expect(!file.hasBytes(of: ObjectDescription(identity: other)))
    }
  }

  @Test(arguments: writable.filter { $0 != .folder }) func `The trash is listed by its name only`(
    _ kind: StorePeer.Kind
  ) throws {
    try StorePeer.with(kind) { peer in
      for key in [
        ".trash/x/1.jpg", ".trash/x/2.jpg", ".trash/x/y/3.jpg", ".trash/x/y/4.jpg", ".trash/z/5.jpg", "6.jpg",
      ] {
        try peer.set(key, [1])
      }
      func keys(_ list: (ObjectPage.Position?) throws -> ObjectPage) throws -> [ObjectKey] {
        var (found, position) = ([ObjectKey](), nil as ObjectPage.Position?)
        repeat {
          let page = try list(position)
          found += page.entries.map(\.key)
          position = page.next
        } while position != nil
        return found
      }
      #expect(
        try keys { try peer.store.waitForPage(below: ".trash/x", from: $0) }
          == [".trash/x/1.jpg", ".trash/x/2.jpg", ".trash/x/y/3.jpg", ".trash/x/y/4.jpg"])
      #expect(try keys { try peer.store.waitForPage(from: $0) } == ["6.jpg"])
    }
  }

  @Test(arguments: writable) func `A copy, a move and a deletion do what they say`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      let identity = try peer.store.waitToPut(pattern(5000), as: "a é.bin", replaces: false)
      try peer.store.waitToCopy("a é.bin", of: identity, to: "copy/b.bin")
      let copy = try peer.store.waitForHead("copy/b.bin").identity
      #expect(
        try peer.store.waitForBytes("copy/b.bin", ObjectRange(offset: 0, length: 5000), of: copy) == pattern(5000))
      try peer.store.waitToMove("a é.bin", of: identity, to: ".trash/a.bin")
      #expect(throws: ObjectStoreError.notFound) { try peer.store.waitForHead("a é.bin") }
      #expect(try peer.store.waitForHead(".trash/a.bin").identity.size == 5000)
      #expect(try peer.store.waitForPage(from: nil).entries.map(\.key) == ["copy/b.bin"])
      try peer.store.waitToDelete("copy/b.bin")
      try peer.store.waitToDelete("copy/b.bin")
      #expect(try peer.store.waitForPage(from: nil).entries.isEmpty)
    }
  }

  @Test(arguments: writable) func `A replaced object is neither copied nor moved`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      let old = try peer.store.waitToPut(pattern(10), as: "a.bin", replaces: false)
      let new = try peer.store.waitToPut(pattern(10, seed: 5), as: "a.bin", replaces: true)
      #expect(throws: ObjectStoreError.changed) { try peer.store.waitToCopy("a.bin", of: old, to: "b.bin") }
      #expect(throws: ObjectStoreError.changed) { try peer.store.waitToMove("a.bin", of: old, to: "b.bin") }
      #expect(try peer.store.waitForHead("a.bin").identity == new)
      #expect(throws: ObjectStoreError.notFound) { try peer.store.waitForHead("b.bin") }
    }
  }

  @Test(arguments: peers.filter(\.isReadOnly)) func `A store without writing says so`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      try peer.set("a.jpg", [1])
      let identity = try peer.store.waitForHead("a.jpg").identity
      #expect(throws: ObjectStoreError.unsupported) { try peer.store.waitToPut([1], as: "b", replaces: true) }
      #expect(throws: ObjectStoreError.unsupported) { try peer.store.waitToCopy("a.jpg", of: identity, to: "b") }
      #expect(throws: ObjectStoreError.unsupported) { try peer.store.waitToMove("a.jpg", of: identity, to: "b") }
      #expect(throws: ObjectStoreError.unsupported) { try peer.store.waitToDelete("a.jpg") }
    }
  }

  @Test(arguments: peers) func `A read whose receiver pauses loses nothing`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      let bytes = pattern(1_000_000)
      try peer.set("a.jpg", bytes)
      let identity = try peer.store.waitForHead("a.jpg").identity
      let receiver = PausingReceiver()
      let operation = peer.store.read("a.jpg", nil, of: identity, into: receiver)
      receiver.resumed(by: operation)
      #expect(try receiver.wait() == bytes)
      #expect(receiver.pauses > 5)
    }
  }

  @Test(arguments: peers) func `A cancelled read ends once, as cancelled`(_ kind: StorePeer.Kind) throws {
    try StorePeer.with(kind) { peer in
      try peer.set("a.jpg", pattern(1_000_000))
      let identity = try peer.store.waitForHead("a.jpg").identity
      let receiver = PausingReceiver()
      // It is never resumed, so it is still running when it is cancelled.
      let operation = peer.store.read("a.jpg", nil, of: identity, into: receiver)
      receiver.waitForPause()
      operation.cancel()
      operation.cancel()
      #expect(throws: ObjectStoreError.cancelled) { try receiver.wait() }
    }
  }
}

/// The same against moto's server, an independent implementation of S3: Python's package `moto[server]`.
@Suite struct MotoTests {
  @Test(.enabled(if: MotoServer.program != nil, "moto_server is neither in PATH nor at PHOTOD_TEST_MOTO_SERVER"))
  func `A bucket of moto is a store like the others`() throws {
    let moto = try MotoServer()
    MotoServer.running.withLock { $0 = moto }
    defer { moto.stop() }
    let tests = ConformanceTests()
    try tests.`A head has the size, and an identity that a read accepts`(.moto)
    try tests.`A range is exactly the bytes asked for`(.moto)
    try tests.`A missing object is not found`(.moto)
    try tests.`A replaced object is not read as the old one`(.moto)
    try tests.`Pages list every object once, in the order of keys`(.moto)
    try tests.`An empty store lists nothing`(.moto)
    try tests.`What is written is read, with a new identity each time`(.moto)
    try tests.`A copy, a move and a deletion do what they say`(.moto)
    // Not the condition of a copy: moto 5.2 does not know x-amz-copy-source-if-match.
    try tests.`A read whose receiver pauses loses nothing`(.moto)
    try tests.`A cancelled read ends once, as cancelled`(.moto)
  }
}

/// The same against nginx, which serves a folder and a manifest.
@Suite struct NginxTests {
  @Test(.enabled(if: NginxOrigin.program != nil, "nginx is not installed"))
  func `A folder behind nginx is a store like the others`() throws {
    let tests = ConformanceTests()
    try tests.`A head has the size, and an identity that a read accepts`(.nginx)
    try tests.`A range is exactly the bytes asked for`(.nginx)
    try tests.`A missing object is not found`(.nginx)
    try tests.`A replaced object is not read as the old one`(.nginx)
    try tests.`Pages list every object once, in the order of keys`(.nginx)
    try tests.`An empty store lists nothing`(.nginx)
    try tests.`A read whose receiver pauses loses nothing`(.nginx)
    try tests.`A cancelled read ends once, as cancelled`(.nginx)
    try tests.`A store without writing says so`(.nginx)
  }
}
