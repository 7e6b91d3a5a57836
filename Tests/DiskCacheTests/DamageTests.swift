import DiskCache
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A file in an entry's place that is not that entry is never served; it is counted and removed.
@Suite("Disk cache: damaged entries")
struct DamageTests {
  private static let bytes: [UInt8] = (0..<150).map { UInt8(truncatingIfNeeded: $0 &* 37) }
  private static let info: [UInt8] = [7, 8, 9]
  private static let key = Sample.key(1)

  private let cache: TemporaryCache
  private let store: DiskStore
  private let path: String
  private let whole: [UInt8]

  init() throws {
    cache = try TemporaryCache()
    store = cache.open()
    store.store(Self.bytes, info: Self.info, for: Self.key, .frame)
    store.waitUntilIdle()
    path = try cache.onlyFile()
    whole = try #require(cache.contents(path))
  }

  private func expectRefused(_ name: String) {
    let before = store.statistics
    #expect(store.entry(for: Self.key, .frame) == nil, "\(name) was served")
    store.waitUntilIdle()
    #expect(store.statistics.corrupt == before.corrupt + 1 && store.statistics.misses == before.misses + 1, "\(name)")
    #expect(!cache.exists(path), "\(name) was left")
    #expect(store.statistics.frames.entries == 0)
    #expect(store.entry(for: Self.key, .frame) == nil)
    #expect(store.statistics.corrupt == before.corrupt + 1, "\(name) was counted twice")
  }

  @Test("a stored entry comes back with the same bytes and info")
  func comesBack() throws {
    let entry = try #require(store.entry(for: Self.key, .frame))
    #expect(entry.bytes == Self.bytes && entry.info == Self.info)
    #expect(whole.count == 128 + Self.bytes.count)
    #expect(store.statistics.hits == 1 && store.statistics.corrupt == 0)
  }

  @Test("a truncated or extended entry file is not served")
  func length() throws {
    for count in 0..<whole.count {
      try cache.put(Array(whole.prefix(count)), path)
      expectRefused("cut at \(count)")
    }
    try cache.put(whole + [0], path)
    expectRefused("a byte longer")
  }

  @Test("an entry with any single byte changed is not served")
  func anyChangedByteIsRefused() throws {
    for position in whole.indices {
      for bits in [UInt8(1), 0x80, 0xFF] {
        var bytes = whole
        bytes[position] ^= bits
        try cache.put(bytes, path)
        expectRefused("byte \(position) changed by \(bits)")
      }
    }
    // The undamaged file is still served after that.
    try cache.put(whole, path)
    #expect(store.entry(for: Self.key, .frame)?.bytes == Self.bytes)
  }

  @Test("an entry of another key, kind or epoch is not served")
  func otherKeysAreNotServed() throws {
    store.store([1], info: [], for: Sample.key(2), .frame)
    store.store(Self.bytes, info: [], for: Self.key, .derivative)
    store.waitUntilIdle()
    let files = Set(try cache.entryFiles().keys)
    let derivative = try #require(files.first { $0.hasPrefix("derivative-1/") })
    let second = try #require(files.subtracting([path, derivative]).first)
    for other in [derivative, second] {
      try cache.put(try #require(cache.contents(other)), path)
      #expect(store.entry(for: Self.key, .frame) == nil, "\(other) was served for \(path)")
      store.waitUntilIdle()
      #expect(!cache.exists(path))
    }
    #expect(store.statistics.corrupt == 2)
    store.close()
    let later = cache.open(frame: 2)
    try cache.put(whole, path.replacing("frame-1/", with: "frame-2/"))
    #expect(later.entry(for: Self.key, .frame) == nil, "one of epoch 1 was served in epoch 2")
    #expect(later.statistics.corrupt == 1)
  }

  @Test(
    "a foreign file in an entry's place is not served",
    arguments: ["text", "symbolic link", "fifo", "larger than the limit"])
  func foreign(_ what: String) throws {
    let place = cache.folder + "/" + path
    unlink(place)
    switch what {
    case "text": try cache.put(Array(repeating: 0x20, count: 5000), path)
    case "symbolic link":
      try cache.put(whole, "elsewhere")
      #expect(symlink(cache.folder + "/elsewhere", place) == 0)
    case "fifo": #expect(mkfifo(place, 0o600) == 0)
    default: try cache.put(whole + Array(repeating: 0, count: 4 << 20), path)
    }
    expectRefused(what)
    if what == "symbolic link" { #expect(cache.contents("elsewhere") == whole) }
  }

  @Test("a damaged entry is replaced by the next store of its key")
  func replaced() throws {
    try cache.put(Array(whole.dropLast()), path)
    #expect(store.entry(for: Self.key, .frame) == nil)
    store.store([5], info: [], for: Self.key, .frame)
    store.waitUntilIdle()
    #expect(store.entry(for: Self.key, .frame)?.bytes == [5])
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }
}
