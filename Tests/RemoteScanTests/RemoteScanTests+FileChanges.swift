// Scans while photod moves objects, and after it failed to.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryScan
import PhotoModel
import RemoteScan
import Testing

extension RemoteScanTests {
  @Test func `A photograph that is uploaded and deleted while a scan reads it does not come back`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    let (catalogue, path) = (library.catalogue, Array("a.jpg".utf8))
    let identity = FileIdentity(inode: 1, size: 1000, modified: 1)
    let zone = try #require(TimeZone(identifier: "UTC"))
    let media = try MediaProbe(limits: CodecLimits(), timeZone: zone).media(
      of: MemoryByteSource(Self.jpeg(32)), identity, at: path)
    library.store.beforeNextRead(of: "b.jpg") { [store = library.store] in
      store.set("a.jpg", nil)
      #expect(throws: Never.self) {
        let upload = ProbedFile(path: path, identity: identity, finding: .media(media))
        let asset = try catalogue.addUpload(upload, for: .local)
        let row = try #require(try catalogue.knownFile(at: path))
        let file = TrashRecord.File(number: 0, path: path, trashPath: Array(".photod-trash/x/a.jpg".utf8))
        _ = try catalogue.write([.delete(asset.localIdentifier, rows: [row.id], files: [file], now: 0)])
        try catalogue.setState(.trashed, of: try catalogue.unfinishedTrashRecords())
        try catalogue.remove([row.id])
      }
    }
    #expect(try library.scan(parallelProbes: 1).probed == 2)
    #expect(try library.assets().keys.sorted() == ["b.jpg"])
    // Another program puts an object at the path of the deleted one.
    library.store.set("a.jpg", Self.jpeg(64))
    _ = try library.scan()
    #expect(try library.assets()["a.jpg"]?.pixelSize.width == 64)
  }

  @Test func `A scan that is stopped while it lists the store again is not recorded as complete`() throws {
    let library = try Library()
    library.store.set("b.jpg", Self.jpeg(40))
    let (catalogue, path) = (library.catalogue, Array("a.jpg".utf8))
    let identity = FileIdentity(inode: 1, size: 1000, modified: 1)
    let zone = try #require(TimeZone(identifier: "UTC"))
    let media = try MediaProbe(limits: CodecLimits(), timeZone: zone).media(
      of: MemoryByteSource(Self.jpeg(32)), identity, at: path)
    // A row whose object is missing, before the first scan.
    _ = try catalogue.addUpload(ProbedFile(path: path, identity: identity, finding: .media(media)), for: .local)
    let stop = StopFlag()
    library.store.duringNextList(at: "b.jpg") { [store = library.store] in
      store.duringNextList(at: "b.jpg") { stop.raise() }
    }
    #expect(try library.scan(stop: stop).removed == 0)
    #expect(stop.isRaised)
    let isComplete = try catalogue.scanState(for: .local).isFirstScanComplete
    #expect(!isComplete)
    #expect(try library.scan().removed == 1)
    #expect(try catalogue.scanState(for: .local).isFirstScanComplete)
  }

  @Test func `A first scan that is stopped is continued by the next one`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    let stop = StopFlag()
    library.store.beforeNextRead(of: "b.jpg") { stop.raise() }
    _ = try library.scan(parallelProbes: 1, batchObjects: 1, stop: stop)
    #expect(try library.assets().keys.sorted() == ["a.jpg"])
    #expect(try library.scan().probed == 1)
    #expect(try library.assets().keys.sorted() == ["a.jpg", "b.jpg"])
  }

  @Test func `A scan leaves alone what a failed deletion or restoration has moved`() throws {
    let library = try Library()
    for (number, name) in ["a.jpg", "b.jpg", "c.jpg"].enumerated() { library.store.set(name, Self.jpeg(32 + number)) }
    _ = try library.scan()
    let (catalogue, path, before) = (library.catalogue, Array("a.jpg".utf8), try library.assets())
    let asset = try #require(before["a.jpg"]).localIdentifier
    let row = try #require(try catalogue.knownFile(at: path))
    let file = TrashRecord.File(number: 0, path: path, trashPath: Array(".photod-trash/x/a.jpg".utf8))
    _ = try catalogue.write([.delete(asset, rows: [row.id], files: [file], now: 0)])
    library.store.set("a.jpg", nil)
    #expect(try library.scan().removed == 0)
    #expect(try library.assets() == before)
    // A copy that another program has made does not take its place.
    library.store.set("copy.jpg", Self.jpeg(32))
    _ = try library.scan()
    #expect(try library.assets() == before)

    library.store.set("copy.jpg", nil)
    try catalogue.setState(.trashed, of: try catalogue.unfinishedTrashRecords())
    try catalogue.remove([row.id])
    let record = try #require(try catalogue.trashRecord(of: asset, for: .local))
    _ = try catalogue.write([.restore(record, files: record.files, sidecars: [])])
    library.store.set("a.jpg", Self.jpeg(32))
    _ = try library.scan()
    #expect(try library.assets().keys.sorted() == ["b.jpg", "c.jpg"])
    // Once it is reverted, an object at the path is another photograph.
    try catalogue.setState(.trashed, of: [record])
    _ = try library.scan()
    let after = try library.assets()
    #expect(after.keys.sorted() == ["a.jpg", "b.jpg", "c.jpg"] && after["a.jpg"]?.localIdentifier != asset)
  }
}
