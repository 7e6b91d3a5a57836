import DiskCache
import Foundation
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@testable import ImageService

/// Objects in memory that several managers share.
private final class Bucket: SharedDerivativeStore {
  private struct State {
    var objects: [String: [UInt8]] = [:]
    var defects: [String] = []
    var reads = 0
    var cancelled = 0
    var isHeld = false
    var held: [@Sendable () -> Void] = []
    var isDown = false
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "bucket")

  var objects: [String: [UInt8]] { state.withLock { $0.objects } }
  var defects: [String] { state.withLock { $0.defects } }
  var reads: Int { state.withLock { $0.reads } }
  var cancelled: Int { state.withLock { $0.cancelled } }
  var heldCount: Int { state.withLock { $0.held.count } }

  func removeAll() { state.withLock { $0.objects = [:] } }
  func set(_ name: String, _ bytes: [UInt8]) { state.withLock { $0.objects[name] = bytes } }
  func goDown() { state.withLock { $0.isDown = true } }

  /// Lets reads wait.
  func hold() { state.withLock { $0.isHeld = true } }

  func release() {
    let held = state.withLock { state in
      state.isHeld = false
      defer { state.held = [] }
      return state.held
    }
    for read in held { queue.async(execute: read) }
  }

  func read(
    _ name: String, take: @escaping @Sendable ([UInt8]) -> String?, ended: @escaping @Sendable () -> Void
  ) -> RemoteWait? {
    let read: @Sendable () -> Void = { [self] in
      if let bytes = objects[name], let defect = take(bytes) { state.withLock { $0.defects.append(defect) } }
      ended()
    }
    let isAsked = state.withLock { state in
      state.reads += 1
      if state.isDown { return false }
      if state.isHeld { state.held.append(read) } else { queue.async(execute: read) }
      return true
    }
    return isAsked ? RemoteWait { [self] in state.withLock { $0.cancelled += 1 } } : nil
  }

  func write(_ name: String, content: @escaping @Sendable () -> [UInt8]?) {
    queue.async { [self] in
      if let bytes = content() { set(name, bytes) }
    }
  }

  func waitForPresence(of name: String) -> Bool? { state.withLock { $0.isDown ? nil : $0.objects[name] != nil } }
  func waitToWrite(_ name: String, _ bytes: [UInt8]) { set(name, bytes) }

  /// Waits until all writes so far are done.
  func settle() { queue.sync {} }
}

/// A manager with a disk cache of its own.
private final class Machine {
  let harness: ImageManagerHarness
  private let disk: DiskStore
  private let folder: String

  init(_ bucket: Bucket, isRemote: Bool = false, _ change: (inout ImageManagerHarness.Setting) -> Void = { _ in }) {
    folder = FileManager.default.temporaryDirectory.appending(path: "photod-shared-\(UUID().uuidString)").path
    let disk = DiskStore(
      folder: folder, capacityBytes: 64 << 20, epochs: FrameStore.epochs, limits: DiskStoreLimits(minimumFreeBytes: 0),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    self.disk = disk
    harness = ImageManagerHarness {
      $0.store = FrameStore(disk, shared: bucket, isRemoteLibrary: isRemote)
      change(&$0)
    }
  }

  deinit {
    disk.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Adds a photograph whose content all machines recognise.
  func add(_ name: String = "a", _ bytes: [UInt8] = SharedDerivativeTests.photograph) -> Asset {
    var asset = harness.originals.add(bytes, named: name)
    // Each catalogue has its own content versions and inodes.
    asset.contentVersion = ContentVersion("\(name)-\(UUID().uuidString)")
    asset.original.identity.inode = UInt64.random(in: 1...UInt64.max)
    asset.original.fingerprint = SharedDerivativeTests.fingerprint(name)
    return asset
  }

  /// Waits until all that was made is stored.
  func settle(_ bucket: Bucket) async throws {
    try await harness.untilIdle()
    disk.waitUntilIdle()
    bucket.settle()
  }
}

@Suite("Shared derivatives")
struct SharedDerivativeTests {
  static let photograph = JPEGFile { $0.quality = 95 }.encoded(Scene(seed: 7).pixels(width: 1600, height: 1200))

  static func fingerprint(_ name: String) -> FileFingerprint? {
    (Array(name.utf8) + [UInt8](repeating: 0, count: 16)).prefix(16).withUnsafeBytes { FileFingerprint($0) }
  }

  private static func request(_ side: Int, _ delivery: DeliveryMode = .highQualityFormat) -> ImageRequest {
    ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), deliveryMode: delivery)
  }

  private let bucket = Bucket()

  /// The frames of a request.
  private func frames(_ machine: Machine, _ asset: Asset, _ side: Int) async -> [ImageFrame] {
    await machine.harness.deliveries(asset, Self.request(side)).compactMap {
      switch $0 {
      case .degraded(let frame), .final(let frame): frame
      case .progress, .failed: nil
      }
    }
  }

  /// Has another machine make the derivatives of an asset.
  private func makeObject(_ name: String = "a") async throws {
    let first = Machine(bucket)
    let asset = first.add(name)
    #expect(await frames(first, asset, 900).map(\.result.source) == [.original])
    try await first.settle(bucket)
  }

  @Test func `A manager with an empty disk makes small frames from what another has made, without the original`()
    async throws
  {
    let first = Machine(bucket)
    let asset = first.add()
    _ = await frames(first, asset, 900)
    try await first.settle(bucket)
    #expect(bucket.objects.count == 1)
    let name = try #require(bucket.objects.keys.first)
    #expect(name.wholeMatch(of: /[0-9a-f]{2}\/9-[0-9a-f]{30}/) != nil, "\(name)")
    let local = try #require(await frames(first, asset, 300).last)

    let second = Machine(bucket)
    let copy = second.add()
    #expect(copy.contentVersion != asset.contentVersion)
    for side in [300, 150] {
      #expect(await frames(second, copy, side).map(\.result.source) == [.derivative])
    }
    #expect(await frames(second, copy, 300).last?.bytes == local.bytes)
    #expect(second.harness.originals.opened == 0)
    // One read for both sizes, and nothing to write again.
    #expect(bucket.reads == 1 && bucket.objects.count == 1)
    // Larger frames need the original, and the shared store is not asked.
    #expect(await frames(second, copy, 900).map(\.result.source) == [.original])
    #expect(bucket.reads == 1)
  }

  @Test func `An object that is damaged or belongs to another original is ignored, and made again`() async throws {
    try await makeObject()
    let whole = bucket.objects
    let name = try #require(whole.keys.first)
    try await makeObject("b")
    let other = try #require(bucket.objects.first { $0.key != name }?.value)
    let bytes = try #require(whole[name])
    var flipped = bytes
    flipped[bytes.count / 2] ^= 1
    // Complete entries, of pictures that were decoded at a scale which no decoder has.
    let keys = try #require(SharedDerivativeName(of: Machine(bucket).add(), isRemote: false)).entries.map(\.key)
    let epoch = FrameStore.epochs.derivative
    let entries = try EntrySequence.entries(in: bytes, of: keys, .derivative, epoch: epoch)
    let ofOtherScale = zip(keys, entries).map { (key: $0, entry: DiskEntry(bytes: $1.bytes, info: [3])) }
    let damaged: [(bytes: [UInt8], defect: String)] = [
      (flipped, "checksum"), (Array(bytes.dropLast()), "length"), (other, "wrongEntry"),
      (Array("<html>".utf8) + bytes, "length"), ([], "length"),
      (EntrySequence.bytes(of: ofOtherScale, .derivative, epoch: epoch), "wrongFormat"),
    ]
    for (number, (content, defect)) in damaged.enumerated() {
      bucket.set(name, content)
      let machine = Machine(bucket)
      let asset = machine.add()
      #expect(await frames(machine, asset, 400).map(\.result.source) == [.original], "\(defect)")
      #expect(bucket.defects.count == number + 1 && bucket.defects.last == defect)
      // With the next render that makes all sizes.
      _ = await frames(machine, asset, 900)
      try await machine.settle(bucket)
      let next = Machine(bucket)
      #expect(await frames(next, next.add(), 400).map(\.result.source) == [.derivative], "\(defect)")
      #expect(next.harness.originals.opened == 0 && bucket.defects.count == number + 1)
    }
  }

  @Test func `Pictures that depend on this catalogue only are not shared`() async throws {
    let first = Machine(bucket)
    var unread = first.add("unread")
    unread.original.fingerprint = nil
    var moment = first.add("moment")
    moment.contentVersion = moment.contentVersion.showing("1.5")
    var raw = first.add("raw")
    raw.contentVersion = raw.contentVersion.showing("raw")
    for asset in [unread, moment, raw] {
      for side in [300, 900] { #expect(await frames(first, asset, side).map(\.result.source) == [.original]) }
    }
    try await first.settle(bucket)
    #expect(bucket.objects.isEmpty && bucket.reads == 0)
    // Another size or time is another original.
    try await makeObject("a")
    let second = Machine(bucket)
    var touched = second.add("a")
    touched.original.identity.modified += 2_000_000_000
    #expect(await frames(second, touched, 300).map(\.result.source) == [.original])
  }

  @Test func `Files that differ only in an orientation beyond their ends have objects of their own`() async throws {
    func photograph(_ orientation: Int) -> [UInt8] {
      let file = JPEGFile {
        $0.quality = 95
        $0.leadingSegments = [JPEGSegment(marker: 0xFE, content: [UInt8](repeating: 0x20, count: 4096))]
        $0.exif = EXIFBlock { $0.orientation = orientation }
      }
      return file.encoded(Scene(seed: 7).pixels(width: 1600, height: 1200))
    }
    #expect(photograph(1).count == photograph(3).count && photograph(1).count == photograph(6).count)
    for (number, orientation) in [1, 3, 6].enumerated() {
      let machine = Machine(bucket)
      let asset = machine.add("a", photograph(orientation))
      #expect(await frames(machine, asset, 300).map(\.result.source) == [.original], "\(orientation)")
      _ = await frames(machine, asset, 900)
      try await machine.settle(bucket)
      #expect(bucket.objects.count == number + 1)
      let copy = Machine(bucket)
      let same = copy.add("a", photograph(orientation))
      #expect(await frames(copy, same, 300).map(\.result.source) == [.derivative], "\(orientation)")
    }
  }

  @Test(arguments: ["com.microsoft.bmp", "public.tiff"])
  func `Files whose pixels may be uncompressed are shared only if they are objects of a bucket`(_ type: String)
    async throws
  {
    // Two such files of one size and time, or objects of a web server of one size and tag, may have one fingerprint.
    for (isRemote, hasTime) in [(false, true), (true, false), (true, true)] {
      let machine = Machine(bucket, isRemote: isRemote)
      var asset = machine.add()
      asset.uniformTypeIdentifier = type
      asset.original.identity.modified = hasTime ? 1_600_000_000_000_000_000 : 0
      #expect(await frames(machine, asset, 900).map(\.result.source) == [.original])
      try await machine.settle(bucket)
      #expect(bucket.objects.count == (isRemote && hasTime ? 1 : 0))
    }
  }

  @Test func `A job that waits for the shared store keeps no worker and no place in the queue of renders`() async throws
  {
    try await makeObject()
    let machine = Machine(bucket) { $0.waitingJobs = 1 }
    let asset = machine.add()
    bucket.hold()
    let log = EventLog()
    let waiting = machine.harness.request(asset, Self.request(300), named: "waits") { log.append("waits \($0.source)") }
    try await eventually { bucket.heldCount == 1 }
    #expect(machine.harness.manager.waitingJobCount == 0)
    #expect(machine.harness.manager.request("waits", owner: "me")?.stage == .awaitingDerivatives)
    // As many jobs wait as may; another one does not wait, and is not refused.
    #expect(await frames(machine, asset, 200).map(\.result.source) == [.original])
    bucket.release()
    #expect(await log.lines(1) == ["waits derivative"])
    withExtendedLifetime(waiting) {}
  }

  @Test func `The read ends when the last who waits for it leaves, and a late answer changes nothing`() async throws {
    try await makeObject()
    let machine = Machine(bucket)
    let asset = machine.add()
    bucket.hold()
    let log = EventLog()
    let task = machine.harness.request(asset, Self.request(300)) { log.append("\($0.source)") }
    try await eventually { bucket.heldCount == 1 }
    machine.harness.manager.cancel(task)
    #expect(await log.lines(1) == ["failed"])
    try await eventually { bucket.cancelled == 1 }
    bucket.release()
    bucket.settle()
    #expect(machine.harness.originals.opened == 0)
    #expect(await frames(machine, asset, 300).map(\.result.source) == [.derivative])
  }

  @Test func `Without an answer of the shared store pictures are made from originals, and local ones stay quick`()
    async throws
  {
    bucket.goDown()
    let machine = Machine(bucket)
    let asset = machine.add()
    #expect(await frames(machine, asset, 300).map(\.result.source) == [.original])
    _ = await frames(machine, asset, 900)
    try await machine.settle(bucket)
    let reads = bucket.reads
    #expect(await frames(machine, asset, 310).map(\.result.source) == [.derivative])
    #expect(bucket.reads == reads)
  }

  @Test func `Background work makes nothing that is shared, and shares what was made before`() async throws {
    try await makeObject("a")
    let machine = Machine(bucket)
    let assets = [machine.add("a"), machine.add("b")]
    let work = machine.harness.derivativeWork(StubLibrary(assets))
    var made = 0
    while let step = try work.next() {
      try step.run(StopFlag())
      made += 1
    }
    try await machine.settle(bucket)
    #expect(made == 1 && bucket.objects.count == 2)
    // A new bucket, and a disk cache with "b".
    bucket.removeAll()
    work.restart()
    while let step = try work.next() {
      try step.run(StopFlag())
      made += 1
    }
    try await machine.settle(bucket)
    #expect(made == 2 && bucket.objects.count == 2)
  }
}

extension ImageDelivery {
  fileprivate var source: String {
    switch self {
    case .final(let frame), .degraded(let frame): "\(frame.result.source)"
    case .progress: "progress"
    case .failed: "failed"
    }
  }
}
