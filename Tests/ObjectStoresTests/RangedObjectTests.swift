import Foundation
import PhotoFixtures
import PhotoModel
import StoreFixtures
import Testing

@testable import ObjectStores

@Suite struct RangedObjectTests {
  private static let bytes = pattern(3_000_000)

  private func withObject(
    _ change: (inout RangedObject.Limits) -> Void = { _ in }, _ test: (RangedObject, MemoryServer) throws -> Void
  ) throws {
    let server = MemoryServer(root: "/photos", isBucket: true)
    defer { server.stop() }
    server.set("a.jpg", Self.bytes)
    let store = try StorePeer.bucket(endpoint: server.address, usesPathStyle: true, prefix: "")
    var limits = RangedObject.Limits()
    change(&limits)
    let identity = try store.waitForHead("a.jpg").identity
    try test(RangedObject("a.jpg", of: identity, in: store, limits: limits), server)
  }

  @Test func `Small reads of the head are one range`() throws {
    try withObject { object, server in
      for offset in stride(from: 0, to: 40_000, by: 100) {
        let found = try object.bytes(at: Int64(offset), count: 100)
        #expect(found == Array(Self.bytes[offset..<offset + 100]))
      }
      #expect(object.cost == (48 << 10, 1))
      #expect(server.requests.last?.fields["range"] == "bytes=0-49151")
    }
  }

  @Test func `The index at the end is a second range`() throws {
    try withObject { object, _ in
      _ = try object.bytes(at: 0, count: 16)
      // The last bytes, and then what they point to.
      for (offset, count) in [(2_999_990, 10), (2_990_000, 5000), (2_998_000, 2000)] {
        #expect(try object.bytes(at: Int64(offset), count: count) == Array(Self.bytes[offset..<offset + count]))
      }
      #expect(object.cost.ranges == 2)
      #expect(object.cost.bytes == 64 << 10)
    }
  }

  @Test(arguments: 0..<10) func `Any reads give the bytes of the object, and fetch none twice`(_ number: Int) throws {
    try withObject({ $0.totalBytes = 3_000_000 }) { object, _ in
      var random = Sampling.generator("reads of objects \(number)")
      for _ in 0..<40 {
        let offset = Int.random(in: 0..<3_000_000, using: &random)
        let count = Int.random(in: 1...60_000, using: &random)
        let found = try object.bytes(at: Int64(offset), count: count)
        #expect(found == Array(Self.bytes[offset..<min(3_000_000, offset + count)]), "\(Sampling.note)")
      }
      #expect(object.cost.bytes <= 3_000_000, "\(Sampling.note)")
    }
  }

  @Test func `A source has a limit, and says why a read failed`() throws {
    try withObject({ $0.totalBytes = 100_000 }) { object, server in
      _ = try object.bytes(at: 0, count: 16)
      #expect(throws: ByteSourceError.readFailed(code: 5)) { try object.bytes(at: 100_000, count: 90_000) }
      #expect(object.failure == .limitExceeded(.objectBytes))
      server.set("a.jpg", pattern(3_000_000, seed: 3))
      #expect(throws: ByteSourceError.readFailed(code: 5)) { try object.bytes(at: 500_000, count: 10) }
      #expect(object.failure == .changed)
    }
  }
}
