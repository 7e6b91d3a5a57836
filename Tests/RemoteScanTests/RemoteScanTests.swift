import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import Logging
import ObjectStores
import PhotoFixtures
import PhotoModel
import Testing

@testable import RemoteScan

/// The objects of a store become the assets of a catalogue.
@Suite struct RemoteScanTests {
  struct Library {
    let store = MemoryStore()
    let folder: TemporaryLibrary
    let catalogue: Catalogue

    init() throws {
      folder = try TemporaryLibrary()
      catalogue = try folder.catalogue()
    }

    /// - Parameter parallelProbes: 1: reads the heads in the order of keys.
    func scan(
      acceptingRemovals: Bool = false, parallelProbes: Int = 8, batchObjects: Int = 256, stop: StopFlag = StopFlag()
    ) throws -> RemoteScanProgress {
      let zone = try #require(TimeZone(identifier: "UTC"))
      var options = RemoteScanner.Options()
      options.parallelProbes = parallelProbes
      options.batchObjects = batchObjects
      return try RemoteScanner(
        store: store, catalogue: catalogue, probe: MediaProbe(limits: CodecLimits(), timeZone: zone), timeZone: zone,
        options: options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      ).scan(acceptingRemovals: acceptingRemovals, stop: stop)
    }

    func assets() throws -> [String: Asset] { try catalogue.everything() }
  }

  static func jpeg(_ width: Int, _ height: Int = 24) -> [UInt8] {
    JPEGFile { _ in }.encoded(Pixels.orientationCard(width: width, height: height))
  }

  @Test func `Objects become assets, and a second scan reads none of them again`() throws {
    let library = try Library()
    library.store.set("2024/a.jpg", smallJPEG)
    library.store.set("2024/b.png", smallPNG)
    library.store.set("notes.txt", Array("no picture".utf8))
    let first = try library.scan()
    #expect((first.objects, first.probed, first.unreadable, first.skipped) == (3, 3, 1, 1))
    let assets = try library.assets()
    #expect(Set(assets.keys) == ["2024/a.jpg", "2024/b.png"])
    #expect(assets["2024/a.jpg"]?.pixelSize == PixelSize(width: 32, height: 24))
    #expect(library.store.reads == first.ranges)
    let second = try library.scan()
    #expect((second.objects, second.probed, second.ranges) == (3, 0, 0))
    #expect(try library.assets() == assets)
  }

  @Test func `A new entity tag is a new version of the same asset`() throws {
    let library = try Library()
    library.store.set("a.jpg", Self.jpeg(32))
    library.store.set("b.jpg", Self.jpeg(40))
    _ = try library.scan()
    let before = try library.assets()
    library.store.set("a.jpg", Self.jpeg(48))
    let progress = try library.scan()
    #expect((progress.probed, progress.removed, progress.moved) == (1, 0, 0))
    let after = try library.assets()
    #expect(after["a.jpg"]?.localIdentifier == before["a.jpg"]?.localIdentifier)
    #expect(after["a.jpg"]?.pixelSize.width == 48)
    #expect(after["a.jpg"]?.contentVersion != before["a.jpg"]?.contentVersion)
    #expect(after["b.jpg"] == before["b.jpg"])
  }

  @Test func `A moved object stays the same asset`() throws {
    let library = try Library()
    library.store.set("a.jpg", Self.jpeg(32))
    library.store.set("b.jpg", Self.jpeg(40))
    _ = try library.scan()
    let before = try library.assets()
    library.store.move("a.jpg", to: "z/a.jpg")
    let progress = try library.scan()
    #expect((progress.moved, progress.removed) == (1, 0))
    #expect(try library.assets()["z/a.jpg"]?.localIdentifier == before["a.jpg"]?.localIdentifier)
  }

  @Test func `An object that is gone takes its asset with it`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg", "c.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    library.store.set("a.jpg", nil)
    library.store.set("c.jpg", nil)
    #expect(try library.scan().removed == 2)
    #expect(try library.assets().keys.sorted() == ["b.jpg"])
  }

  @Test func `A scan that would remove most of the library, or all, removes nothing`() throws {
    let library = try Library()
    for number in 0..<30 { library.store.set("\(number).jpg", Self.jpeg(32 + number)) }
    _ = try library.scan()
    for number in 0..<25 { library.store.set("\(number).jpg", nil) }
    #expect(throws: RemoteScanError.library(.tooMuchMissing(missing: 25, known: 30, limitPercent: 50))) {
      try library.scan()
    }
    #expect(try library.assets().count == 30)
    for number in 25..<30 { library.store.set("\(number).jpg", nil) }
    #expect(throws: RemoteScanError.library(.libraryIsEmpty(path: "memory", known: 30))) { try library.scan() }
    #expect(try library.assets().count == 30)
    #expect(try library.scan(acceptingRemovals: true).removed == 30)
    #expect(try library.assets().isEmpty)
  }

  @Test func `A store that fails loses no asset, and the next scan goes on`() throws {
    let library = try Library()
    library.store.set("a.jpg", Self.jpeg(32))
    library.store.set("b.jpg", Self.jpeg(40))
    _ = try library.scan()
    library.store.set("a.jpg", nil)
    library.store.set("c.jpg", Self.jpeg(50))
    library.store.fail(reads: .timedOut)
    #expect(throws: RemoteScanError.store(.timedOut)) { try library.scan() }
    library.store.fail(reads: nil)
    library.store.fail(lists: .slowDown)
    #expect(throws: RemoteScanError.store(.slowDown)) { try library.scan() }
    #expect(try library.assets().keys.sorted() == ["a.jpg", "b.jpg"])
    library.store.fail(lists: nil)
    let progress = try library.scan()
    #expect((progress.probed, progress.removed) == (1, 1))
    #expect(try library.assets().keys.sorted() == ["b.jpg", "c.jpg"])
  }

  @Test(arguments: [ObjectStoreError.accessDenied(.forbidden), .unsupported])
  func `An object that the store refuses to read stays as it is, and others are indexed`(
    _ refusal: ObjectStoreError
  ) throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    library.store.set("a.jpg", Self.jpeg(48))
    for name in ["a.jpg", "c.jpg"] { library.store.refuse(name, refusal) }
    library.store.set("c.jpg", Self.jpeg(50))
    library.store.set("d.jpg", Self.jpeg(60))
    let progress = try library.scan()
    #expect((progress.probed, progress.refused, progress.removed) == (1, 2, 0))
    let during = try library.assets()
    #expect(during.keys.sorted() == ["a.jpg", "b.jpg", "d.jpg"] && during["a.jpg"] == before["a.jpg"])
    let again = try library.scan()
    #expect((again.probed, again.refused, again.removed) == (0, 2, 0))
    for name in ["a.jpg", "c.jpg"] { library.store.refuse(name, nil) }
    #expect(try library.scan().probed == 2)
    #expect(try library.assets().keys.sorted() == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
    #expect(try library.assets()["a.jpg"]?.pixelSize.width == 48)
    #expect(try library.scan().probed == 0)
  }

  @Test func `An asset is kept while its object may have moved to one that the store refuses to read`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg", "c.jpg"].enumerated() {
      library.store.set(name, Self.jpeg(32 + number) + [UInt8](repeating: 0, count: number * 1000))
    }
    _ = try library.scan()
    let before = try library.assets()
    library.store.move("a.jpg", to: "z/a.jpg")
    library.store.set("b.jpg", nil)
    library.store.refuse("z/a.jpg", .accessDenied(.forbidden))
    let progress = try library.scan()
    #expect((progress.refused, progress.removed) == (1, 1))
    #expect(try library.assets().keys.sorted() == ["a.jpg", "c.jpg"])
    library.store.refuse("z/a.jpg", nil)
    #expect(try library.scan().moved == 1)
    #expect(try library.assets()["z/a.jpg"]?.localIdentifier == before["a.jpg"]?.localIdentifier)
  }

  @Test func `An unchanged object that is refused when everything is read again is read by a later scan`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    try library.catalogue.recordScan(probeVersion: "another")
    library.store.refuse("a.jpg", .accessDenied(.forbidden))
    let progress = try library.scan()
    #expect((progress.probed, progress.refused) == (1, 1))
    library.store.refuse("a.jpg", nil)
    #expect(try library.scan().probed == 1)
    #expect(try library.scan().probed == 0)
    #expect(try library.assets() == before)
  }

  @Test(arguments: [ObjectStoreError.accessDenied(.forbidden), .unsupported])
  func `A first scan ends if the store refuses every object`(_ refusal: ObjectStoreError) throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    library.store.fail(reads: refusal)
    #expect(throws: RemoteScanError.allRefused(refusal)) { try library.scan() }
  }

  @Test func `An error says why all objects are refused`() {
    let text = "reading the remote library failed, because all objects are refused: "
    let key = "the store refuses access; check the access key, its secret, and what it may do"
    let archive = "the object is in an archive of the store, or the server does not allow reading it"
    #expect(RemoteScanError.allRefused(.accessDenied(.forbidden)).description == text + key)
    #expect(RemoteScanError.allRefused(.unsupported).description == text + archive)
  }

  @Test func `An object that is replaced while it is read is found by the next scan`() throws {
    let library = try Library()
    library.store.set("a.jpg", Self.jpeg(32))
    library.store.beforeNextRead { [store = library.store] in store.set("a.jpg", Self.jpeg(64)) }
    #expect(try library.scan().probed == 0)
    #expect(try library.assets().isEmpty)
    #expect(try library.scan().probed == 1)
    #expect(try library.assets()["a.jpg"]?.pixelSize.width == 64)
  }

  // MARK: Changes during a scan

  @Test func `An object that is moved while the store is listed stays the same asset`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg", "c.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    // The list has passed the new key, and finds nothing at the old one.
    library.store.duringNextList(at: "c") { [store = library.store] in store.move("c.jpg", to: "a/d.jpg") }
    let progress = try library.scan()
    #expect((progress.moved, progress.removed) == (1, 0))
    let after = try library.assets()
    #expect(after.keys.sorted() == ["a.jpg", "a/d.jpg", "b.jpg"])
    #expect(after["a/d.jpg"]?.localIdentifier == before["c.jpg"]?.localIdentifier)
  }

  @Test func `An object that is away when it is listed and put again stays the same asset`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    library.store.duringNextList(at: "b") { [store = library.store] in
      store.set("b.jpg", nil)
      store.duringNextList(at: "b") { store.set("b.jpg", Self.jpeg(33)) }
    }
    #expect(try library.scan().removed == 0)
    #expect(try library.scan().removed == 0)
    #expect(try library.assets()["b.jpg"]?.localIdentifier == before["b.jpg"]?.localIdentifier)
  }

  @Test(arguments: [true, false])
  func `A moved object that is moved on or put again before it is read stays the same asset`(_ isMoved: Bool) throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    library.store.move("a.jpg", to: "s/a.jpg")
    library.store.beforeNextRead { [store = library.store] in
      if isMoved { store.move("s/a.jpg", to: "t/a.jpg") } else { store.set("s/a.jpg", Self.jpeg(32)) }
    }
    let progress = try library.scan()
    #expect((progress.probed, progress.removed) == (0, 0))
    #expect(try library.scan().moved == 1)
    let after = try library.assets()
    let path = isMoved ? "t/a.jpg" : "s/a.jpg"
    #expect(after.keys.sorted() == ["b.jpg", path])
    #expect(after[path]?.localIdentifier == before["a.jpg"]?.localIdentifier)
  }

  @Test func `A photograph that is deleted after its changed object was read does not come back`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(48 + number)) }
    let catalogue = library.catalogue
    let row = try #require(try catalogue.knownFile(at: Array("a.jpg".utf8)))
    library.store.beforeNextRead(of: "b.jpg") { [store = library.store] in
      store.set("a.jpg", nil)
      #expect(throws: Never.self) { try catalogue.remove([row.id]) }
    }
    #expect(try library.scan(parallelProbes: 1).probed == 2)
    #expect(try library.assets().keys.sorted() == ["b.jpg"])
  }

  // MARK: Entity tags

  @Test func `An object that is renamed by a copy with a new time is recognised by its entity tag`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    library.store.move("a.jpg", to: "renamed.jpg", modified: 1_700_000_000)
    let progress = try library.scan()
    #expect((progress.moved, progress.removed) == (1, 0))
    #expect(try library.assets()["renamed.jpg"]?.localIdentifier == before["a.jpg"]?.localIdentifier)
  }

  @Test func `An object that is written again with the same entity tag is the same version`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    library.store.move("a.jpg", to: "a.jpg", modified: 1_700_000_000)
    #expect(try library.scan().probed == 0)
    #expect(try library.assets() == before)
    // Also if every object is read again.
    try library.catalogue.recordScan(probeVersion: "another")
    #expect(try library.scan().probed == 2)
    #expect(try library.assets()["a.jpg"]?.contentVersion == before["a.jpg"]?.contentVersion)
  }

  @Test func `Objects of one entity tag and size have content versions of their own on a web server`() throws {
    let library = try Library()
    library.store.hideTimes()
    // What nginx sends for files of one time and size.
    for name in ["a.jpg", "b.jpg", "x/a.jpg"] { library.store.set(name, Self.jpeg(32), tag: "\"1-494a\"") }
    _ = try library.scan()
    let before = try library.assets()
    #expect(Set(before.values.map(\.contentVersion)).count == 3)
    // Also if every object is read again, and none of them is another version then.
    try library.catalogue.recordScan(probeVersion: "another")
    #expect(try library.scan().probed == 3)
    #expect(try library.assets() == before)
  }

  @Test func `An object that is moved on a web server stays the same asset, with another content version`() throws {
    let library = try Library()
    library.store.hideTimes()
    library.store.set("a.jpg", Self.jpeg(32), tag: "\"1-494a\"")
    library.store.set("b.jpg", Self.jpeg(40))
    _ = try library.scan()
    let before = try library.assets()
    library.store.move("a.jpg", to: "z/c.jpg")
    let progress = try library.scan()
    #expect((progress.moved, progress.removed) == (1, 0))
    let after = try library.assets()
    #expect(after["z/c.jpg"]?.localIdentifier == before["a.jpg"]?.localIdentifier)
    #expect(after["z/c.jpg"]?.contentVersion != before["a.jpg"]?.contentVersion)
    #expect(after["b.jpg"] == before["b.jpg"])
    library.store.move("z/c.jpg", to: "a.jpg")
    #expect(try library.scan().moved == 1)
    #expect(try library.assets()["a.jpg"]?.contentVersion == before["a.jpg"]?.contentVersion)
  }

  @Test func `An object that the list has no entity tag of stays the same asset`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let before = try library.assets()
    library.store.hideTag(of: "a.jpg", true)
    #expect(try library.scan().removed == 0)
    #expect(try library.assets() == before)
    library.store.hideTag(of: "a.jpg", false)
    #expect(try library.scan().probed == 0)
    #expect(try library.assets() == before)
  }

  @Test func `A list that is not sorted is refused`() throws {
    let library = try Library()
    library.store.set("a.jpg", Self.jpeg(32))
    library.store.set("b.jpg", Self.jpeg(40))
    library.store.reverse()
    #expect(throws: RemoteScanError.unsortedList) { try library.scan() }
  }
}
